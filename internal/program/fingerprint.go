package program

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Fingerprint returns a digest of the inputs of a program: a recipe, and the files of these patterns, in the order of the
// patterns. Tests and directories do not count.
func Fingerprint(recipe string, patterns ...string) (string, error) {
	sum := sha256.New()
	sum.Write([]byte(recipe))
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		slices.Sort(files)
		for _, file := range files {
			info, err := os.Stat(file)
			if err != nil {
				return "", err
			}
			if info.IsDir() || strings.HasSuffix(file, "_test.go") {
				continue
			}
			content, err := os.ReadFile(file)
			if err != nil {
				return "", err
			}
			// With the size, moving a line from one file to the next changes the digest.
			fmt.Fprintf(sum, "%s %d\n", filepath.Base(file), len(content))
			sum.Write(content)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}
