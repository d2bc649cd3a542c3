package tree

import "unsafe"

// sector is the alignment of reads past the cache: the largest sector of any disk.
const sector = 4096

// Aligned returns a buffer for reads past the cache (open(2), O_DIRECT).
func Aligned(size int) []byte {
	buffer := make([]byte, size+sector)
	skip := 0
	if over := int(uintptr(unsafe.Pointer(&buffer[0])) % sector); over > 0 {
		skip = sector - over
	}
	return buffer[skip : skip+size : skip+size]
}
