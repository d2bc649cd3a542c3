package move

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
)

func named(spec *api.MigrationSpec) { spec.Services.PerOrdinal = api.PerOrdinalExport }

// TestOrdinalNames: an ordinal that starts has its name on that side and no other name. At the end all names
// are on the side of the ordinals.
func TestOrdinalNames(t *testing.T) {
	v, from, to := newExporting(t, 3, named)
	first := true
	v.Run(func(_ *api.Migration, outcome engine.Outcome) error {
		if !outcome.Wrote {
			return nil
		}
		switch e := outcome.Decision.Effect; {
		case e.Verb == plan.ScaleDown && first:
			first = false
			return v.expectNames("before the first handoff", from, "web-0", "web-1", "web-2")
		case e.Verb == plan.ScaleUp && e.Ordinal == 1:
			if err := v.expectNames("as ordinal 1 starts", from, "web-0"); err != nil {
				return err
			}
			return v.expectNames("as ordinal 1 starts", to, "web-1", "web-2")
		}
		return nil
	})
	v.ExpectMoved()
	v.Must(v.expectNames("at the end", from))
	v.Must(v.expectNames("at the end", to, "web-0", "web-1", "web-2"))
	v.Audit()
}

// TestOrdinalNamesBack: names return with their ordinals, and are deleted when requested. A Service that the
// user has created remains unchanged.
func TestOrdinalNamesBack(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters, harness.WithSpec(named), harness.WithSpec(func(s *api.MigrationSpec) {
		s.Cleanup.PerOrdinalServices = api.CleanupDelete
	}))
	from, to := v.servingExports()
	v.Must(from.Create(v.Ctx, v.podService("web-0", "web-0")))
	mover := v.Mover()
	v.Drive(mover,
		harness.OnVerb(plan.ScaleUp, func() error { return mover.Store.SetMode(v.Ctx, api.ModeRollback) }),
		func(_ *api.Migration, outcome engine.Outcome) error {
			if !outcome.Wrote {
				return nil
			}
			if e := outcome.Decision.Effect; e.Verb != plan.ScaleUp || e.Side != plan.SourceSide {
				return nil
			}
			return v.expectNames("as ordinal 1 starts again", from, "web-0", "web-1")
		},
	)
	v.ExpectBack()
	service := &corev1.Service{}
	v.Must(from.Get(v.Ctx, client.ObjectKey{Namespace: v.App.Namespace, Name: "web-0"}, service))
	v.Must(v.expectNames("at the end", to))
	v.Audit()
}

// newExporting returns a move to another cluster with exported Services, and a client for each cluster.
func newExporting(t *testing.T, replicas int32, services func(*api.MigrationSpec)) (v *move, from, to client.Client) {
	t.Helper()
	t.Parallel()
	v = newMove(t, harness.Usual(replicas), harness.AcrossClusters, harness.WithSpec(services))
	from, to = v.servingExports()
	return v, from, to
}

// servingExports installs the Multi-Cluster Services API in both clusters.
func (v *move) servingExports() (from, to client.Client) {
	v.T.Helper()
	v.Must(installMCS())
	from, to = v.clients()
	v.awaitExports(from, to)
	return from, to
}

// podService returns a headless Service of that name for one pod.
func (v *move) podService(name, pod string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: v.App.Namespace, Name: name},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, Selector: map[string]string{"statefulset.kubernetes.io/pod-name": pod},
		},
	}
}

// expectNames compares the Services of single pods in a cluster, and their exports.
func (v *move) expectNames(when string, c client.Client, want ...string) error {
	for _, list := range []func(context.Context, client.Client) ([]string, error){v.podServices, v.podExports} {
		have, err := list(v.Ctx, c)
		if err != nil {
			return err
		}
		if slices.Sort(have); !slices.Equal(have, want) {
			return fmt.Errorf("%s: the names are %q, not %q", when, have, want)
		}
	}
	return nil
}

func (v *move) podServices(ctx context.Context, c client.Client) ([]string, error) {
	var services corev1.ServiceList
	err := c.List(ctx, &services, client.InNamespace(v.App.Namespace))
	var names []string
	for _, service := range services.Items {
		if maps.Equal(service.Spec.Selector, map[string]string{"statefulset.kubernetes.io/pod-name": service.Name}) {
			names = append(names, service.Name)
		}
	}
	return names, err
}

func (v *move) podExports(ctx context.Context, c client.Client) ([]string, error) {
	var exports mcsv1beta1.ServiceExportList
	err := c.List(ctx, &exports, client.InNamespace(v.App.Namespace))
	var names []string
	for _, export := range exports.Items {
		names = append(names, export.Name)
	}
	return names, err
}
