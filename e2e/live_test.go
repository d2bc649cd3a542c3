package e2e

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/internal/clusters"
)

func TestLive(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	binary, _ := cluster.Build(ctx, os.Stderr)
	c, err := cluster.Start(ctx, cluster.Options{Name: "x", Binary: binary})
	if err != nil {
		t.Fatal(err)
	}
	c.StopAfter(t)
	conn, _ := clusters.Connect("x", c.RESTConfig())
	for n := 0; n < 12; n++ {
		begin := time.Now()
		var g sync.WaitGroup
		for i := 0; i < 12; i++ {
			g.Go(func() {
				var l corev1.PodList
				if err := conn.Live().List(ctx, &l); err != nil {
					t.Error(err)
				}
			})
		}
		g.Wait()
		t.Log(time.Since(begin))
	}
}
