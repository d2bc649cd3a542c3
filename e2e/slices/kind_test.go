package slices

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/e2e/built"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
)

// startKind starts a kind cluster whose nodes have the images that the sets of these tests name. Each is the workload
// without a volume. The image "stuck" does not exist anywhere.
func startKind(ctx context.Context) (end func(failed bool) error, err error) {
	pair, dir, err := harness.KindPair(ctx, "e2e-kind-slices")
	if err != nil {
		return nil, err
	}
	providing, stop := context.WithCancel(context.WithoutCancel(ctx))
	end = func(failed bool) error {
		stop()
		if failed {
			return errors.Join(pair.KeepLogs(context.Background()), pair.Down(context.Background()))
		}
		return pair.Down(context.Background())
	}
	one, limit, tidy = pair.East.Config, 6*time.Minute, remove
	if api, err = fixture.Client(one); err == nil {
		err = errors.Join(loadWebs(ctx, pair, dir), setup.CRDs(ctx, pair.East))
	}
	if err != nil {
		return nil, errors.Join(err, end(true))
	}
	go setup.Provide(providing, api)
	return end, nil
}

func remove(t *testing.T, namespace *corev1.Namespace) {
	if t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := api.Delete(ctx, namespace); err != nil {
		t.Error(err)
	}
}

// loadWebs builds the images web:1 to web:3 and loads them into the nodes.
func loadWebs(ctx context.Context, pair *kind.Pair, dir string) error {
	source, err := built.Module("e2e", "kind", "workload")
	if err != nil {
		return err
	}
	var images []string
	for version := range 3 {
		image := fmt.Sprintf("web:%d", version+1)
		changes := []string{`CMD ["run"]`, fmt.Sprintf("ENV VERSION=%d", version+1)}
		if err := kind.BuildImage(ctx, dir, source, image, changes...); err != nil {
			return err
		}
		images = append(images, image)
	}
	return pair.Load(ctx, images...)
}
