package csi

import (
	"os"
	"path/filepath"
	"strings"
)

// Abandon releases the folder's lock, as the kernel does when the process is killed.
func (f *Folder) Abandon() { _ = f.owner.Close() }

// Loops returns the images below a folder that have loop devices.
func Loops(dir string) (images []string) {
	files, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, file := range files {
		if content, err := os.ReadFile(file); err == nil && strings.HasPrefix(string(content), dir) {
			images = append(images, string(content))
		}
	}
	return images
}
