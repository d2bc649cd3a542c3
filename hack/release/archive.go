package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"time"
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
