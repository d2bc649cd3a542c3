package preflight

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/world"
)

// dryRuns answers the dry runs of a stop in place, by the write that is dry-run. It fails a test that writes.
type dryRuns struct {
	t       *testing.T
	answers map[string]error
	asked   []string
}

// answer notes a write, and returns its answer.
func (d *dryRuns) answer(write string, dry []string) error {
	if len(dry) == 0 {
		d.t.Errorf("%s is no dry run", write)
	}
	d.asked = append(d.asked, write)
	return d.answers[write]
}

// hooks returns the hooks of an API server with these answers.
func (d *dryRuns) hooks() clustertest.Hooks {
	return clustertest.Hooks{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, options ...client.CreateOption) error {
			return d.answer("create "+o.GetName(), (&client.CreateOptions{}).ApplyOptions(options).DryRun)
		},
		Delete: func(_ context.Context, _ client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			return d.answer("delete "+o.GetName(), (&client.DeleteOptions{}).ApplyOptions(options).DryRun)
		},
		SubResourceCreate: func(_ context.Context, _ client.Client, _ string, o, _ client.Object, options ...client.SubResourceCreateOption) error {
			return d.answer("evict "+o.GetName(), (&client.SubResourceCreateOptions{}).ApplyOptions(options).DryRun)
		},
	}
}

// stopInPlace returns the ordinal that is stopped next, of a set with two claim templates of which one gets new volumes.
func stopInPlace() (world.Arriving, []client.Object) {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	var claims []client.Object
	for _, name := range []string{"data", "logs"} {
		set.Spec.VolumeClaimTemplates = append(set.Spec.VolumeClaimTemplates, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}})
		claims = append(claims, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name + "-web-2", UID: "u"}})
	}
	m := &api.Migration{Spec: api.MigrationSpec{Storage: &api.StorageSpec{}}}
	m.Status.Handoff = &api.Handoff{Ordinal: 2}
	m.Status.Storage = &api.StorageStatus{Handoff: &api.StorageHandoff{Claims: []api.StorageClaim{{ClaimTemplate: "data"}}}}
	return world.Arriving{Migration: m, Ordinal: 2, To: plan.DestinationSide, From: set, Set: set}, claims
}

// TestStopInPlaceIsRehearsed: right before an ordinal is stopped in place, each write is dry-run that follows the deletion of
// its claim, which nothing takes back.
func TestStopInPlaceIsRehearsed(t *testing.T) {
	pods, claims := schema.GroupResource{Resource: "pods"}, schema.GroupResource{Resource: "persistentvolumeclaims"}
	budget := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
	budget.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause}}
	denied := apierrors.NewForbidden(pods, "web-2", errors.New("denied by policy keep"))
	broken := errors.New("no route to host")
	for name, tc := range map[string]struct {
		write  string
		answer error
		want   string
		err    error
	}{
		"all is let in":                {"", nil, "", nil},
		"the pod would be refused":     {"create web-2", denied, api.ReasonWriteRefused, nil},
		"a policy on evictions":        {"evict web-2", denied, api.ReasonWriteRefused, nil},
		"a webhook on evictions":       {"evict web-2", apierrors.NewInternalError(errors.New("failed calling webhook \"keep\"")), api.ReasonWriteRefused, nil},
		"one without dry runs":         {"evict web-2", apierrors.NewBadRequest("admission webhook \"keep\" does not support dry run"), "", nil},
		"the budget":                   {"evict web-2", budget, api.ReasonBudgetZero, nil},
		"no right to evict":            {"evict web-2", apierrors.NewForbidden(pods, "web-2", errors.New(`User "mover" cannot create resource "pods/eviction"`)), api.ReasonPermissionMissing, nil},
		"it has ended":                 {"evict web-2", apierrors.NewNotFound(pods, "web-2"), "", nil},
		"the server limits requests":   {"evict web-2", apierrors.NewTooManyRequests("slow down", 1), "", apierrors.NewTooManyRequests("slow down", 1)},
		"no answer":                    {"evict web-2", broken, "", broken},
		"a policy on deletions":        {"delete data-web-2", apierrors.NewForbidden(claims, "data-web-2", errors.New("denied by policy keep")), api.ReasonWriteRefused, nil},
		"the claim has changed":        {"delete data-web-2", apierrors.NewConflict(claims, "data-web-2", errors.New("changed")), "", nil},
		"a policy on claims":           {"create data-web-2", apierrors.NewForbidden(claims, "data-web-2", errors.New("denied by policy keep")), api.ReasonWriteRefused, nil},
		"its name is taken":            {"create data-web-2", apierrors.NewAlreadyExists(claims, "data-web-2"), "", nil},
		"a quota that it uses by then": {"create data-web-2", apierrors.NewForbidden(claims, "data-web-2", errors.New("exceeded quota: full")), "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			about, objects := stopInPlace()
			d := &dryRuns{t: t, answers: map[string]error{tc.write: tc.answer}}
			at := clusters.Judged(clustertest.Hooked(d.hooks(), objects...))
			finding, err := (&Inspector{Pair: endpointtest.Pair(at, at)}).LetsIn(t.Context(), about)
			got := ""
			if finding != nil {
				got = finding.Reason
			}
			if got != tc.want || (err == nil) != (tc.err == nil) || finding != nil && (finding.Remedy == "" || finding.Warning) {
				t.Fatalf("found %+v, %v, want %q", finding, err, tc.want)
			}
			if all := []string{"create web-2", "evict web-2", "delete data-web-2", "create data-web-2"}; tc.want == "" && err == nil && !slices.Equal(d.asked, all) {
				t.Errorf("dry-run were %v, want %v", d.asked, all)
			}
		})
	}
}

// TestRestartInPlaceIsRehearsed: a pod that is only restarted keeps its claims.
func TestRestartInPlaceIsRehearsed(t *testing.T) {
	about, objects := stopInPlace()
	about.Migration.Status.Storage.Handoff.Claims = nil
	refused := apierrors.NewGenericServerResponse(http.StatusForbidden, "create", schema.GroupResource{Resource: "pods"}, "web-2", "denied by policy keep", 0, true)
	d := &dryRuns{t: t, answers: map[string]error{"evict web-2": refused}}
	at := clusters.Judged(clustertest.Hooked(d.hooks(), objects...))
	e := &Inspector{Pair: endpointtest.Pair(at, at)}
	if finding, err := e.LetsIn(t.Context(), about); err != nil || finding == nil || !strings.Contains(finding.Message, "the eviction of pod shop/web-2 in cluster east would be refused") {
		t.Errorf("found %+v, %v", finding, err)
	}
	d.answers, d.asked = nil, nil
	if finding, err := e.LetsIn(t.Context(), about); err != nil || finding != nil || !slices.Equal(d.asked, []string{"create web-2", "evict web-2"}) {
		t.Errorf("found %+v, %v, and dry-run were %v", finding, err, d.asked)
	}
}
