package tree

import "unsafe"

// sector is what reads past the cache must be aligned to: the largest sector that disks have.
const sector = 4096

// Aligned is a buffer for reads past the cache (open(2), O_DIRECT).
func Aligned(size int) []byte {
	buffer := make([]byte, size+sector)
	skip := 0
	if over := int(uintptr(unsafe.Pointer(&buffer[0])) % sector); over > 0 {
		skip = sector - over
	}
	return buffer[skip : skip+size : skip+size]
}
