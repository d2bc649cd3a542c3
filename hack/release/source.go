package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sliceshift/sliceshift/internal/program"
)

// semantic matches the versions that krew and helm accept, with a leading v.
var semantic = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

// fromGit sets the missing fields from git: version, commit, and time of the commit.
func (r *release) fromGit(ctx context.Context, dir string) error {
	git := func(args ...string) (string, error) { return program.In{Dir: dir}.Output(ctx, "git", args...) }
	var err error
	if r.root, err = git("rev-parse", "--show-toplevel"); err != nil {
		return err
	}
	if r.commit, err = git("rev-parse", "HEAD"); err != nil {
		return err
	}
	seconds, err := git("log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return err
	}
	r.time = time.Unix(at, 0).UTC()
	changed, err := git("status", "--porcelain")
	if err != nil {
		return err
	}
	if r.version == "" {
		r.version = described(git("describe", "--tags", "--match", "v[0-9]*", "--long"))
	}
	if changed != "" {
		fmt.Fprintln(r.progress, "this checkout differs from its commit: what is made of it is no release")
		r.version += dirtied(r.version)
	}
	if !semantic.MatchString(r.version) {
		return fmt.Errorf("version %s is not of the form v1.2.3 or v1.2.3-rc.1", r.version)
	}
	return nil
}

// described returns the version for an output of git describe: v1.2.0-5-gabc is the fifth commit after v1.2.0. Without
// an earlier release it is a development version.
func described(long string, err error) string {
	parts := strings.Split(long, "-")
	if n := len(parts); err == nil && n >= 3 {
		tag := strings.Join(parts[:n-2], "-")
		if parts[n-2] == "0" {
			return tag
		}
		separator := "-"
		if strings.Contains(tag, "-") {
			separator = "."
		}
		return tag + separator + "dev." + parts[n-2]
	}
	return "v0.0.0-dev"
}

// dirtied marks a version that differs from its commit.
func dirtied(version string) string {
	if strings.Contains(version, "-") {
		return ".dirty"
	}
	return "-dirty"
}

// again builds the release again, from a copy of the source at another path and without the build cache, and compares
// the two.
func (r *release) again(ctx context.Context, dir string) error {
	elsewhere, err := os.MkdirTemp("", "sliceshift-again-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(elsewhere)
	second := *r
	if second.root, err = r.copySource(ctx, filepath.Join(elsewhere, "source")); err != nil {
		return err
	}
	second.env = append(second.env, "GOCACHE="+filepath.Join(elsewhere, "cache"))
	into := filepath.Join(elsewhere, "release")
	if err := second.into(ctx, into); err != nil {
		return err
	}
	if err := sameSums(dir, into); err != nil {
		return err
	}
	fmt.Fprintln(r.progress, "made once more, elsewhere and from nothing: every byte is the same")
	return nil
}

// copySource copies the current files that git knows.
func (r *release) copySource(ctx context.Context, to string) (string, error) {
	list, err := program.In{Dir: r.root}.Output(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return "", err
	}
	for name := range strings.SplitSeq(strings.Trim(list, "\x00"), "\x00") {
		if err := copyFile(filepath.Join(r.root, name), filepath.Join(to, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err // skips a file that git knows but that was deleted
		}
	}
	return to, nil
}

func copyFile(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if info.Mode()&os.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, info.Mode().Perm())
}

// read reads a file of the source and normalises its line breaks.
func (r *release) read(names ...string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(append([]string{r.root}, names...)...))
	return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), err
}
