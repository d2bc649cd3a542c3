package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sliceshift/sliceshift/internal/program"
	"github.com/sliceshift/sliceshift/internal/tool"
)

// entry is a file of an archive.
type entry struct {
	name string
	mode int64
	data []byte
}

// modes of files.
const (
	program755 = 0o755
	text644    = 0o644
)

// pluginCompletion is the script that kubectl calls to complete a plugin's arguments. It is next to the plugin.
const pluginCompletion = "kubectl_complete-migrate"

// archiveName returns the name of an archive.
func (r *release) archiveName(b built) string {
	end := ".tar.gz"
	if b.os == "windows" {
		end = ".zip"
	}
	return fmt.Sprintf("%s_%s_%s_%s%s", b.name, r.version, b.os, b.arch, end)
}

// archives packs each program with its licence.
func (r *release) archives(dir string, all []built) error {
	licence, err := r.read("LICENSE")
	if err != nil {
		return err
	}
	for _, b := range all {
		data, err := os.ReadFile(b.file)
		if err != nil {
			return err
		}
		entries := []entry{{b.executable(), program755, data}, {"LICENSE", text644, licence}}
		if b.name == "kubectl-migrate" && b.os != "windows" {
			script, err := r.read("cmd", "migrate", "command", pluginCompletion)
			if err != nil {
				return err
			}
			entries = append(entries, entry{pluginCompletion, program755, script})
		}
		pack := tarGz
		if b.os == "windows" {
			pack = zipped
		}
		packed, err := pack(entries, r.time)
		if err == nil {
			err = write(dir, r.archiveName(b), packed)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tarred packs files, all with the same time and without an owner.
func tarred(entries []entry, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Size: int64(len(e.data)), ModTime: at, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("packing %s: %w", e.name, err)
		}
		if _, err := w.Write(e.data); err != nil {
			return nil, fmt.Errorf("packing %s: %w", e.name, err)
		}
	}
	err := w.Close() // it writes the end of the archive
	return out.Bytes(), err
}

// tarGz packs and compresses files.
func tarGz(entries []entry, at time.Time) ([]byte, error) {
	packed, err := tarred(entries, at)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(packed); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

// zipped packs files for Windows.
func zipped(entries []entry, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: at}
		header.SetMode(os.FileMode(e.mode))
		file, err := w.CreateHeader(header)
		if err == nil {
			_, err = file.Write(e.data)
		}
		if err != nil {
			return nil, fmt.Errorf("packing %s: %w", e.name, err)
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

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
				differ = append(differ, fmt.Errorf("%s differs, or exists only once", name))
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
