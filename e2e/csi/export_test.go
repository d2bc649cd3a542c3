package csi

import (
	"os"
	"path/filepath"
	"strings"
)

// Abandon is what the kernel does with a folder when its process is killed.
func (f *Folder) Abandon() { _ = f.owner.Close() }

// Loops are the loop devices of images below a folder.
func Loops(dir string) (images []string) {
	files, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, file := range files {
		if content, err := os.ReadFile(file); err == nil && strings.HasPrefix(string(content), dir) {
			images = append(images, string(content))
		}
	}
	return images
}
