package world

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/workload"
)

// tracking returns an API server that tracks field managers, with the migration as its client.
func tracking() client.Client {
	c := fake.NewClientBuilder().WithScheme(clusters.NewScheme()).WithReturnManagedFields().WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if _, asks := object.(*authenticationv1.SelfSubjectReview); asks {
				return nil
			}
			return c.Create(ctx, object, options...)
		},
	}).Build()
	return client.WithFieldOwner(c, api.FieldManager)
}

// moved is a move from apps/v1 to another kind in another cluster and under another name, at its end.
type moved struct {
	t *testing.T
	*Executor
	version string
}

// applied returns the manifest that helm applies to a side.
func (m moved) applied(at endpoint.Endpoint, spec map[string]any) runtime.ApplyConfiguration {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetAPIVersion(at.APIVersion)
	object.SetKind("StatefulSet")
	object.SetNamespace(at.Namespace)
	object.SetName(at.Set)
	return client.ApplyConfigurationFromUnstructured(object)
}

func (m moved) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// spec returns what helm has in its manifest, besides other fields.
func spec(more map[string]any) map[string]any {
	all := map[string]any{
		"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}, "serviceName": "web",
		"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "web"}}, "spec": map[string]any{"containers": []any{map[string]any{"name": "web", "image": "web:1"}}}},
	}
	maps.Copy(all, more)
	return all
}

const recorded = `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"web","namespace":"here"},"spec":{"minReadySeconds":5,"replicas":3}}`

// newMoved applies the source with helm, and lets the migration create and fill the destination.
func newMoved(t *testing.T, version string) moved {
	t.Helper()
	m := moved{t, &Executor{Owner: "m", Pair: &endpoint.Pair{
		Source:      endpoint.Endpoint{Side: plan.SourceSide, Namespace: "here", Set: "web", APIVersion: workload.NativeVersion, Live: tracking()},
		Destination: endpoint.Endpoint{Side: plan.DestinationSide, Namespace: "there", Set: "web-2", APIVersion: version, Live: tracking()},
	}}, version}
	m.must(m.Source.Live.Apply(t.Context(), m.applied(m.Source, spec(map[string]any{"minReadySeconds": int64(5), "replicas": int64(3)})), client.FieldOwner("helm")))
	source := &appsv1.StatefulSet{}
	m.must(m.Source.Live.Get(t.Context(), m.Source.Key("web"), source))
	source.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: recorded}
	m.must(m.Source.Live.Update(t.Context(), source, client.FieldOwner("kubectl-client-side-apply")))

	object, err := m.Created(t.Context(), m.Destination, plan.Effect{Verb: plan.CreateSet, Name: "web-2", After: plan.SetState{Fence: "m.1"}})
	m.must(err)
	m.must(m.Destination.Live.Create(t.Context(), object))
	m.scale(m.Source, 0)
	m.scale(m.Destination, 3)
	return m
}

// scale changes the number of replicas as the migration does.
func (m moved) scale(at endpoint.Endpoint, replicas int32) {
	m.t.Helper()
	m.do(at, plan.Effect{Verb: plan.ScaleUp, Before: plan.SetState{Replicas: -1}, After: plan.SetState{Replicas: replicas}})
}

func (m moved) do(at endpoint.Endpoint, effect plan.Effect) {
	m.t.Helper()
	set := m.set(at)
	effect.Side, effect.Name, effect.UID, effect.ResourceVersion = at.Side, at.Set, set.GetUID(), set.GetResourceVersion()
	_, err := m.Do(m.t.Context(), effect)
	m.must(err)
}

func (m moved) set(at endpoint.Endpoint) client.Object {
	m.t.Helper()
	set := at.NewSet(metav1.ObjectMeta{})
	m.must(at.Live.Get(m.t.Context(), at.Key(at.Set), set))
	return set
}

// managers returns the managers of fields of a side's spec.
func (m moved) managers(at endpoint.Endpoint) []string {
	m.t.Helper()
	var all []string
	for _, entry := range m.set(at).GetManagedFields() {
		if strings.Contains(entry.FieldsV1.GetRawString(), `"f:spec"`) {
			all = append(all, string(entry.Operation)+" "+entry.Manager+" "+entry.APIVersion)
		}
	}
	slices.Sort(all)
	return all
}

// TestY9ReleaseGivesFieldsToTheirManagers: at the end the fields of the destination belong to the managers that they had at
// the source. The next release of helm has no conflict, and removes what its chart no longer has. replicas stay.
func TestY9ReleaseGivesFieldsToTheirManagers(t *testing.T) {
	for _, version := range []string{workload.SliceVersion, workload.NativeVersion} {
		t.Run(version, func(t *testing.T) {
			m := newMoved(t, version)
			m.do(m.Destination, plan.Effect{Verb: plan.ReleaseFence, Before: plan.SetState{Fence: "m.1"}, After: plan.SetState{HandOver: true}})
			want := []string{"Apply helm " + version}
			if diff := cmp.Diff(want, m.managers(m.Destination)); diff != "" {
				t.Errorf("managers (-want +got):\n%s", diff)
			}
			if got, want := m.set(m.Destination).GetAnnotations()[corev1.LastAppliedConfigAnnotation], `{"apiVersion":"`+version+`","kind":"StatefulSet","metadata":{"name":"web-2","namespace":"there"},"spec":{"minReadySeconds":5}}`; got != want {
				t.Errorf("last applied %s, want %s", got, want)
			}
			if err := m.Destination.Live.Apply(t.Context(), m.applied(m.Destination, spec(map[string]any{"serviceName": "web-new"})), client.FieldOwner("helm")); err != nil {
				t.Fatalf("helm has a conflict: %v", err)
			}
			set, err := endpoint.AsSet(m.set(m.Destination))
			m.must(err)
			if set.Spec.MinReadySeconds != 0 || set.Spec.ServiceName != "web-new" || *set.Spec.Replicas != 3 {
				t.Errorf("spec %+v", set.Spec)
			}
		})
	}
}

// TestY9ReleaseKeepsTheEmptySide: the migration stays the manager of the replicas of a side that it has emptied: an apply of
// the former manifest conflicts before it starts the ordinals twice.
func TestY9ReleaseKeepsTheEmptySide(t *testing.T) {
	m := newMoved(t, workload.SliceVersion)
	m.do(m.Source, plan.Effect{Verb: plan.ReleaseFence, Before: plan.SetState{Fence: "m.1"}})
	err := m.Source.Live.Apply(t.Context(), m.applied(m.Source, spec(map[string]any{"replicas": int64(3)})), client.FieldOwner("helm"))
	if err == nil || !strings.Contains(err.Error(), ".spec.replicas") {
		t.Errorf("no conflict: %v", err)
	}
}

// paused pauses the destination as another manager, with another change.
func (m moved) paused(change func(client.Object)) {
	m.t.Helper()
	set := m.set(m.Destination).(*slicesapi.StatefulSet)
	set.Spec.Paused = true
	change(set)
	m.must(m.Destination.Live.Update(m.t.Context(), set, client.FieldOwner("flux")))
}

// TestY9ReleaseGivesUp: where no former manager is known, the migration gives its fields to nobody.
func TestY9ReleaseGivesUp(t *testing.T) {
	for name, tc := range map[string]struct {
		side   func(moved) endpoint.Endpoint
		before func(moved)
		want   []string
	}{
		"the source, which was rolled back": {
			side: func(m moved) endpoint.Endpoint { return m.Source }, before: func(m moved) { m.scale(m.Source, 3) },
			want: []string{"Apply helm apps/v1"},
		},
		"the source was deleted": {
			before: func(m moved) {
				m.must(m.Source.Live.Delete(m.t.Context(), m.set(m.Source)))
				m.paused(func(client.Object) {})
			},
			want: []string{"Update flux " + workload.SliceVersion},
		},
		"a destination that was there before": {
			before: func(m moved) {
				m.paused(func(set client.Object) { delete(set.GetAnnotations(), api.OwnerAnnotationKey) })
			},
			want: []string{"Update flux " + workload.SliceVersion},
		},
		"nobody else has written it": {
			before: func(m moved) { m.must(m.Source.Live.Delete(m.t.Context(), m.set(m.Source))) },
			want:   []string{"Update sliceshift " + workload.SliceVersion},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMoved(t, workload.SliceVersion)
			tc.before(m)
			at := m.Destination
			if tc.side != nil {
				at = tc.side(m)
			}
			m.do(at, plan.Effect{Verb: plan.ReleaseFence, Before: plan.SetState{Fence: "m.1"}, After: plan.SetState{HandOver: true}})
			if diff := cmp.Diff(tc.want, m.managers(at)); diff != "" {
				t.Errorf("managers (-want +got):\n%s", diff)
			}
			if recorded, found := m.set(at).GetAnnotations()[corev1.LastAppliedConfigAnnotation]; found != (at.Side == plan.SourceSide) {
				t.Errorf("last applied %q", recorded)
			}
		})
	}
}
