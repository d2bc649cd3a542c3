package e2e

import (
	"context"
	"os"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/migration"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

func TestSkeleton(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	binary, err := cluster.Build(ctx, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	both, err := cluster.StartAll(ctx, cluster.Options{Binary: binary}, "east", "west")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range both {
		c.StopAfter(t)
	}
	one := intstr.FromInt32(1)
	app := fixture.App{Namespace: "shop", Name: "web", Replicas: 5, Claims: []string{"data"}, MaxUnavailable: &one}
	if err := app.Deploy(ctx, kubernetes.NewForConfigOrDie(both[0].RESTConfig())); err != nil {
		t.Fatal(err)
	}
	m := fixture.NewMigration("shop", "web")
	m.Spec.Destination.CreateNamespace = true
	mover, err := fixture.NewMover(ctx, both[0].RESTConfig(), both[1].RESTConfig(), m)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	err = mover.Run(ctx, func(m *api.Migration, o migration.Outcome) error {
		d := o.Decision
		switch {
		case d.Effect != nil:
			t.Logf("%6.3f %s wrote=%v", time.Since(begin).Seconds(), d.Effect, o.Wrote)
		case d.Record != nil:
			t.Logf("%6.3f record %+v finished=%v", time.Since(begin).Seconds(), d.Record.Handoff, o.Finished)
		case d.Hold != nil:
			t.Logf("%6.3f hold %s %s %v", time.Since(begin).Seconds(), d.Hold.Reason, d.Hold.Message, o.Again)
		default:
			t.Logf("%6.3f done %q again=%v", time.Since(begin).Seconds(), d.Done, o.Again)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
