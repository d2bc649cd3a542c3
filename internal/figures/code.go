package figures

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// codeOf returns the names of packages, each with a hash of its code. Tests and comments do not count.
func codeOf(root string, packages []string) (string, error) {
	var all []string
	for _, name := range packages {
		sum, err := hashOf(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return "", err
		}
		all = append(all, name+" "+sum)
	}
	return strings.Join(all, ", "), nil
}

func hashOf(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if _, err := fmt.Fprintln(hash, filepath.Base(file)); err != nil {
			return "", err
		}
		if err := tokens(hash, text); err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
	}
	const digits = 5
	return hex.EncodeToString(hash.Sum(nil)[:digits]), nil
}

// tokens writes the tokens of a file, independently of its layout.
func tokens(to io.Writer, text []byte) error {
	var s scanner.Scanner
	var wrong error
	set := token.NewFileSet()
	s.Init(set.AddFile("", set.Base(), len(text)), text, func(_ token.Position, msg string) { wrong = fmt.Errorf("it is not Go: %s", msg) }, 0)
	for {
		_, tok, literal := s.Scan()
		if tok == token.EOF {
			return wrong
		}
		if tok == token.SEMICOLON {
			literal = "" // an automatic semicolon
		}
		if _, err := fmt.Fprintln(to, tok, literal); err != nil {
			return err
		}
	}
}
