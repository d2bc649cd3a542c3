package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sliceshift/sliceshift/internal/program"
	"github.com/sliceshift/sliceshift/internal/tool"
)

// sumsFile has the format of sha256sum --check.
const sumsFile = "SHA256SUMS"

// writeSums lists the checksums of all files in a folder.
func writeSums(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, file := range files {
		sum, err := sumOf(filepath.Join(dir, file.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s  %s\n", sum, file.Name())
	}
	return write(dir, sumsFile, []byte(text.String()))
}

// sameSums returns an error with the files that differ between two releases.
func sameSums(one, other string) error {
	sums := [2][]string{}
	for i, dir := range []string{one, other} {
		data, err := os.ReadFile(filepath.Join(dir, sumsFile))
		if err != nil {
			return err
		}
		sums[i] = strings.Split(strings.TrimSpace(string(data)), "\n")
	}
	var differ []error
	for i, sum := range sums {
		for _, line := range sum {
			if !slices.Contains(sums[1-i], line) {
				_, name, _ := strings.Cut(line, "  ")
				differ = append(differ, fmt.Errorf("%s differs, or is made only once", name))
			}
		}
	}
	return errors.Join(differ...)
}

// components writes the modules that are linked into each program, in CycloneDX format.
func (r *release) components(ctx context.Context, dir string, all []built) error {
	path, err := tool.Path(ctx, "cyclonedx-gomod")
	if err != nil {
		return err
	}
	for _, p := range products {
		at := slices.IndexFunc(all, func(b built) bool { return b.name == p.name })
		if at < 0 {
			continue
		}
		out := filepath.Join(dir, fmt.Sprintf("%s_%s.cdx.json", p.name, r.version))
		args := []string{"bin", "-json", "-std", "-noserial", "-notimestamp", "-version", r.version, "-output", out, all[at].file}
		if _, err := (program.In{}).Output(ctx, path, args...); err != nil {
			return err
		}
	}
	return nil
}
