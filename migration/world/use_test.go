package world

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/volumes"
)

// lister is an API server that records what is listed, and how.
type lister struct {
	mu    sync.Mutex
	lists []string
}

func (l *lister) note(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lists = append(l.lists, text)
}

func (l *lister) client(objects ...client.Object) client.Client {
	return clustertest.Hooked(clustertest.Hooks{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			said := client.ListOptions{}
			said.ApplyOptions(options)
			what := ""
			if _, budgets := list.(*policyv1.PodDisruptionBudgetList); budgets {
				return c.List(ctx, list, options...)
			}
			switch list.(type) {
			case *corev1.PodList:
				what = "pods"
			case *storagev1.VolumeAttachmentList:
				what = "attachments"
			}
			if said.Raw != nil && said.Raw.ResourceVersion != "" {
				what += " " + string(said.Raw.ResourceVersionMatch) + " " + said.Raw.ResourceVersion
			}
			l.note(what)
			defer l.note(what + " listed")
			return c.List(ctx, list, options...)
		},
	}, objects...)
}

// TestUseIsLookedForLive: the pods that use a claim are read from the API server before the ordinal is stopped and
// before it starts, for every kind of volume, because a watch may be stuck. Before the start, the side that gave the
// disk away is listed consistently. Attachments are read after the pods, for volumes that have any (G6).
func TestUseIsLookedForLive(t *testing.T) {
	hostPath := corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}
	csi := corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: "h"}}
	const exact, weak = "pods", "pods NotOlderThan 7"
	for name, tc := range map[string]struct {
		effect plan.Effect
		shared bool
		source corev1.PersistentVolumeSource
		want   []string
	}{
		"stop":                      {plan.Effect{Verb: plan.ScaleDown}, false, hostPath, []string{exact, exact + " listed"}},
		"park":                      {carries(volumes.Park), false, hostPath, nil},
		"park what is attached":     {carries(volumes.Park), false, csi, []string{"attachments", "attachments listed"}},
		"point":                     {carries(volumes.Point), false, hostPath, nil},
		"point what is attached":    {carries(volumes.Point), false, csi, []string{"attachments", "attachments listed"}},
		"point, within the cluster": {carries(volumes.Point), true, hostPath, nil},
		"start where it was":        {plan.Effect{Verb: plan.ScaleUp}, false, hostPath, []string{weak, weak + " listed"}},
		"start there":               {plan.Effect{Verb: plan.ScaleUp, Side: plan.DestinationSide}, false, hostPath, []string{exact, exact + " listed"}},
		"start, within the cluster": {plan.Effect{Verb: plan.ScaleUp, Side: plan.DestinationSide}, true, csi, []string{exact, exact + " listed", "attachments", "attachments listed"}},
		"secure":                    {carries(volumes.Secure), false, csi, nil},
		"what is made is of no use": {carries(volumes.CreateVolume), false, csi, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tc.effect.Side, tc.effect.Ordinal = cmp.Or(tc.effect.Side, plan.SourceSide), 2
			s := plan.Snapshot{Spec: plan.Spec{SameCluster: tc.shared}, Source: plan.Side{Set: plan.Set{Templates: []string{"data"}}}}
			sc := planner.For(s, plan.Decision{Effect: &tc.effect})
			l := &lister{}
			objects := []client.Object{
				&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: appsv1.StatefulSetSpec{VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}}},
				&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data-web-2"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv"}},
				&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: tc.source}},
			}
			backup := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "backup"}, Spec: corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-web-2"},
			}}}}}
			shown := []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "web-0", ResourceVersion: "7"}}, {ObjectMeta: metav1.ObjectMeta{Name: "web-1", ResourceVersion: "5"}}}
			source := &observed{endpoint: endpointtest.Source(l.client(append(objects, backup)...)), pods: shown}
			destination := &observed{endpoint: endpointtest.Destination((&lister{}).client())}
			if sc.Gate {
				source.listing, destination.listing = listAhead(t.Context(), source.endpoint, keepAll), listAhead(t.Context(), destination.endpoint, keepAll)
			}
			readLive(t.Context(), source, destination, sc)
			if source.err != nil || destination.err != nil {
				t.Fatal(source.err, destination.err)
			}
			if !slices.Equal(l.lists, tc.want) {
				t.Errorf("listed %q, want %q", l.lists, tc.want)
			}
			source.mountedBy = source.users()
			users := holdingOf(&api.Migration{}, source, 2, "data", "pv").Claim.Users
			if seen := slices.Equal(users, []string{"backup"}); seen != (len(tc.want) > 0 && strings.HasPrefix(tc.want[0], "pods")) {
				t.Errorf("the claim's users are %q", users)
			}
		})
	}
}

func carries(verb volumes.Verb) plan.Effect {
	return plan.Effect{Verb: plan.CarryVolume, Volume: volumes.Action{Verb: verb}}
}

// TestOwnPodIsReadExactly: an outdated list neither hides the pod of the ordinal, nor shows a deleted one (I1).
func TestOwnPodIsReadExactly(t *testing.T) {
	for name, tc := range map[string]struct {
		listed, got []client.Object
		want        int
	}{
		"it came after the list": {nil, []client.Object{&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-2"}}}, 1},
		"it is gone since":       {[]client.Object{&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-2"}}}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			late := clustertest.New(tc.listed...)
			live := clustertest.Hooked(clustertest.Hooks{
				List: func(ctx context.Context, _ client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
					return late.List(ctx, list, options...)
				},
			}, tc.got...)
			f := &observed{endpoint: endpointtest.Source(live)}
			if err := f.readPods(t.Context(), planner.Reads{Pods: true, Users: true, Ordinal: new(int32(2))}, nil); err != nil {
				t.Fatal(err)
			}
			if len(f.pods) != tc.want {
				t.Errorf("got %d pods, want %d", len(f.pods), tc.want)
			}
		})
	}
}

// TestListedAhead: a list from a time when no pod could start to use an ordinal's volumes is valid until the ordinal
// starts. It is not valid if it shows a user, which may have ended since, if it failed, for another ordinal, and
// after a write that may allow use again (G6).
func TestListedAhead(t *testing.T) {
	uses := func(claim string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "backup"}, Spec: corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}}}}}
	}
	park := carries(volumes.Park)
	park.Side, park.Ordinal = plan.SourceSide, 2
	point := carries(volumes.Point)
	point.Side, point.Ordinal = plan.DestinationSide, 2
	back := carries(volumes.Point)
	back.Side, back.Ordinal = plan.SourceSide, 2
	next := func(e plan.Effect) plan.Effect {
		e.Ordinal = 1
		return e
	}
	for name, tc := range map[string]struct {
		pod     *corev1.Pod
		fails   bool
		ordinal int32
		then    []plan.Effect
		want    bool
	}{
		"nobody":                      {pod: uses("other"), ordinal: 2, then: []plan.Effect{point}, want: true},
		"somebody":                    {pod: uses("data-web-2"), ordinal: 2},
		"the ordinal's own pod":       {pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-2"}}, ordinal: 2},
		"it failed":                   {pod: uses("other"), ordinal: 2, fails: true},
		"another ordinal":             {pod: uses("other"), ordinal: 1},
		"given back since":            {pod: uses("other"), ordinal: 2, then: []plan.Effect{point, back}},
		"one more was taken, unheard": {pod: uses("other"), ordinal: 2, then: []plan.Effect{park}},
		"a neighbor was stopped and taken": {pod: uses("other"), ordinal: 2, then: []plan.Effect{
			{Verb: plan.ScaleDown, Side: plan.SourceSide, Ordinal: 1}, next(park), next(point), {Verb: plan.ScaleUp, Side: plan.DestinationSide, Ordinal: 1},
		}, want: true},
		"a neighbor was given back": {pod: uses("other"), ordinal: 2, then: []plan.Effect{next(back)}, want: true},
		"another process drove it":  {pod: uses("other"), ordinal: 2, then: []plan.Effect{{Verb: plan.WriteFence, Side: plan.SourceSide}}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			hooks := clustertest.Hooks{}
			if tc.fails {
				hooks = clustertest.Failing(errors.New("no answer"), "list")
			}
			e := &Observer{Pair: endpointtest.Pair(clustertest.Hooked(hooks, tc.pod), nil)}
			e.LookAhead(ctx, park)
			for _, effect := range tc.then {
				e.ahead.before(effect, false)
			}
			sc := planner.Reads{Left: plan.SourceSide, Ordinal: &tc.ordinal}
			if got := e.ahead.leftOf(plan.SourceSide, sc).shows(ctx, tc.ordinal, []string{"data"}); got != tc.want {
				t.Errorf("got %t", got)
			}
			if e.ahead.leftOf(plan.DestinationSide, sc) != nil {
				t.Error("it is taken for a list of the other side")
			}
			e.LookAhead(ctx, plan.Effect{Verb: plan.ScaleUp, Side: plan.DestinationSide, Ordinal: 2})
			if len(e.ahead.left) > 0 {
				t.Error("it is kept after the start")
			}
		})
	}
}
