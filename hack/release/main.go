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
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
