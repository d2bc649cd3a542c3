package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/debian"
	"github.com/sliceshift/sliceshift/e2e/kind/stage"
	"github.com/sliceshift/sliceshift/internal/program"
)

// The images.
const (
	databaseImage  = "sliceshift/databases:e2e"
	zookeeperImage = "sliceshift/zookeeper:e2e"
	clientImage    = "sliceshift/database-client:e2e"
)

func main() {
	only := flag.String("only", "", "the one recipe that is tried")
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	program.Run("recipes", func(ctx context.Context) error { return try(ctx, *only) })
}

// try starts the clusters once and tries every recipe on them.
func try(ctx context.Context, only string) (err error) {
	systems := slices.DeleteFunc(systems(), func(s system) bool { return only != "" && s.recipe != only })
	if len(systems) == 0 {
		return fmt.Errorf("recipe %q is none of those that can be tried here", only)
	}
	dir, err := kind.EmptyDir("e2e-recipes")
	if err != nil {
		return err
	}
	pair, err := stage.Up(ctx, dir, func(ctx context.Context) ([]string, error) { return buildImages(ctx, dir, systems) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.Down(ctx, pair, err)) }()
	var failed []error
	for _, s := range systems {
		r := &run{system: s, Play: stage.Begin(pair, s.members)}
		shown, err := r.all(ctx)
		if err != nil {
			return fmt.Errorf("recipe %s: %w (what the nodes logged is in %s)", s.recipe, err, dir)
		}
		shown.print(os.Stdout)
		failed = append(failed, shown.verdict())
	}
	return errors.Join(failed...)
}

// packages are the Debian packages of each image.
var packages = map[string][]string{databaseImage: {"postgresql-15", "redis-server"}, zookeeperImage: {"zookeeper"}}

// buildImages builds the images that these systems need.
func buildImages(ctx context.Context, dir string, systems []system) ([]string, error) {
	images := []string{clientImage}
	for _, s := range systems {
		if slices.Contains(images, s.image) {
			continue
		}
		if err := debian.Image(ctx, os.Stderr, s.image, packages[s.image]...); err != nil {
			return nil, err
		}
		images = append(images, s.image)
	}
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return nil, errors.New("find the sources of e2e/recipes: build without -trimpath, inside the repository")
	}
	return images, kind.BuildImage(ctx, dir, filepath.Join(filepath.Dir(file), "programs", "client"), clientImage)
}
