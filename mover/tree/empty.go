package tree

import (
	"errors"
	"io"
	"os"
	"slices"
)

// First returns the name of an entry in a folder that is not Reserved; empty if there is none.
func First(folder string) (string, error) {
	f, err := os.Open(folder)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	for {
		names, err := f.Readdirnames(len(Reserved) + 1)
		for _, name := range names {
			if !slices.Contains(Reserved, name) {
				return name, nil
			}
		}
		if errors.Is(err, io.EOF) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
	}
}
