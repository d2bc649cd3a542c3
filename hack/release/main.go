// Command release builds everything that is published of a version, in one folder:
//
//	release [flags] FOLDER
//
// The folder has archives of the programs, the image of the manager for several platforms, the chart, manifests, the
// files for krew, lists of linked modules (CycloneDX), and checksums. It needs only Go and the modules in go.mod, but no
// container daemon and no network. The build is reproducible, independent of the path of the source. With -verify
// everything is built again, from a copy and without results of the first build, and compared.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sliceshift/sliceshift/internal/program"
)

func main() {
	r := &release{progress: os.Stderr}
	platforms := flag.String("platforms", strings.Join(allPlatforms, ","), "platforms that programs are built for")
	flag.StringVar(&r.version, "version", "", "version, as v1.2.3 (default: what git says)")
	flag.StringVar(&r.image, "image", "sliceshift-manager", "repository that the image will be pushed to")
	flag.StringVar(&r.url, "url", "https://github.com/sliceshift/sliceshift/releases/download", "where the archives will be, each version in a folder of its own")
	verify := flag.Bool("verify", false, "make everything once more, elsewhere and from nothing, and compare")
	flag.Parse()
	program.Run("release", func(ctx context.Context) error {
		if flag.NArg() != 1 {
			return fmt.Errorf("into which folder? %d were given", flag.NArg())
		}
		r.platforms = strings.Split(*platforms, ",")
		if err := r.fromGit(ctx, "."); err != nil {
			return err
		}
		if err := r.into(ctx, flag.Arg(0)); err != nil {
			return err
		}
		if *verify {
			return r.again(ctx, flag.Arg(0))
		}
		return nil
	})
}

// release is one version and its source.
type release struct {
	// root is the folder of the source.
	root string
	// version begins with v and is semantic; commit is its commit, made at time.
	version, commit string
	time            time.Time
	// image and url are where the image and the files will be published.
	image, url string
	// platforms are GOOS/GOARCH.
	platforms []string
	// env is added to the environment of Go.
	env      []string
	progress io.Writer
}

// into builds the release in a folder and replaces its content. The folder never holds a partial release.
func (r *release) into(ctx context.Context, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	draft, err := os.MkdirTemp(filepath.Dir(dir), ".release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(draft) }() // renamed by now, or incomplete
	if err := r.draft(ctx, draft); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.Chmod(draft, 0o755); err != nil { //nolint:gosec // it is to be read
		return err
	}
	if err := os.Rename(draft, dir); err != nil {
		return err
	}
	fmt.Fprintf(r.progress, "%s is in %s\n", r.version, dir)
	return nil
}

// draft builds everything, the checksums last.
func (r *release) draft(ctx context.Context, dir string) error {
	bin, err := os.MkdirTemp("", "sliceshift-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(bin)
	built, err := r.build(ctx, bin)
	if err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return r.archives(dir, built) },
		func() error { return r.imageArchive(dir, built) },
		func() error { return r.chart(dir) },
		func() error { return r.manifests(ctx, dir) },
		func() error { return r.components(ctx, dir, built) },
		func() error { return r.krew(dir) },
		func() error { return writeSums(dir) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

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
		fmt.Fprintln(r.progress, "this checkout differs from its commit: a build of it is no release")
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
