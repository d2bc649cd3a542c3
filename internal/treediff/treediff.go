// Package treediff compares two file trees, with rsync and go-mtree, or two devices. Tests of the mover use it, and it
// shares no code with the mover.
package treediff

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/vbatts/go-mtree"
)

// ErrNoRsync is the error if rsync is not installed.
var ErrNoRsync = errors.New("rsync is not installed")

// huge is the size, in bytes, above which a file consists of holes and is not read for a comparison.
const huge = 1 << 30

// Compare compares with both tools, with rsync only if it is installed, and returns the differences, one per line. Block
// devices are compared byte by byte.
func Compare(ctx context.Context, source, destination string) ([]string, error) {
	if !isFolder(source) {
		return Devices(source, destination)
	}
	found, err := Rsync(ctx, source, destination)
	if err != nil && !errors.Is(err, ErrNoRsync) {
		return nil, err
	}
	more, err := Mtree(source, destination)
	return append(found, more...), err
}

// Rsync returns the changes that rsync would make. Without --delete and -i it would not report extra files. Without the
// window it would ignore fractions of seconds. It compares contents first, and then sizes and times, also of the files that
// are too large to read.
func Rsync(ctx context.Context, source, destination string) (found []string, err error) {
	path, err := exec.LookPath("rsync")
	if err != nil {
		return nil, ErrNoRsync
	}
	large, err := tooLarge(source)
	if err != nil {
		return nil, err
	}
	args := []string{"-n", "-i", "--delete", "--modify-window=-1", "-aAXH", "--exclude=/lost+found"}
	for _, more := range [][]string{append([]string{"-c"}, large...), {}} {
		cmd := exec.CommandContext(ctx, path, append(append(args, more...), source+"/", destination+"/")...)
		var out, complaints bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &complaints
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("rsync: %w: %s", err, complaints.String())
		}
		for line := range strings.Lines(out.String()) {
			found = append(found, "rsync would change "+strings.TrimSpace(line))
		}
	}
	return found, nil
}

func tooLarge(root string) (exclude []string, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if info, err := d.Info(); err == nil && info.Size() > huge {
			exclude = append(exclude, "--exclude=/"+strings.TrimPrefix(path, root+"/"))
		}
		return nil
	})
	return exclude, err
}

var keywords = append(append([]mtree.Keyword{}, mtree.DefaultKeywords...), "sha256digest", "xattr", "time")

// Mtree compares the specifications of two trees. It omits files that are too large to read.
func Mtree(source, destination string) (found []string, err error) {
	exclude := func(_ string, info os.FileInfo) bool { return info.Size() > huge || info.Name() == "lost+found" }
	spec, err := mtree.Walk(source, []mtree.ExcludeFunc{exclude}, keywords, nil)
	if err != nil {
		return nil, err
	}
	other, err := mtree.Walk(destination, []mtree.ExcludeFunc{exclude}, keywords, nil)
	if err != nil {
		return nil, err
	}
	deltas, err := mtree.Compare(spec, other, keywords)
	if err != nil {
		return nil, err
	}
	for _, delta := range deltas {
		for _, key := range delta.Diff() {
			// The size of a directory depends on its file system.
			if key.Name() != "size" || !isFolder(filepath.Join(source, delta.Path())) {
				found = append(found, fmt.Sprintf("go-mtree: %s %s: %s differs (%v, %v)", delta.Type(), delta.Path(), key.Name(), key.Old(), key.New()))
			}
		}
		if len(delta.Diff()) == 0 {
			found = append(found, fmt.Sprintf("go-mtree: %s %s", delta.Type(), delta.Path()))
		}
	}
	return found, nil
}

// Devices compares the content of a device with the start of another one, which may be larger.
func Devices(source, destination string) (found []string, err error) {
	from, err := os.Open(source)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := os.Open(destination)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	const piece = 1 << 20
	var a, b [piece]byte
	for at := int64(0); ; at += piece {
		n, err := io.ReadFull(from, a[:])
		if n == 0 && errors.Is(err, io.EOF) {
			return nil, nil
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, err
		}
		if m, err := io.ReadFull(to, b[:n]); err != nil {
			return []string{fmt.Sprintf("the second ends after %d bytes: %v", at+int64(m), err)}, nil
		}
		if !bytes.Equal(a[:n], b[:n]) {
			return []string{fmt.Sprintf("they differ in the %d bytes from %d on", n, at)}, nil
		}
	}
}

func isFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}
