package slices

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/history"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
)

// TestSetsOfPod: which sets are reconciled when a pod changes. An update has both states of the pod, and the sets of both
// are reconciled.
func TestSetsOfPod(t *testing.T) {
	web, also, other := slicetest.NamedSet("web", map[string]string{"app": "web"}), slicetest.NamedSet("also", map[string]string{"app": "web"}), slicetest.NamedSet("other", map[string]string{"app": "other"})
	r := &Reconciler{Client: fake.NewClientBuilder().WithScheme(slicetest.Scheme(t)).WithObjects(web, also, other).Build()}
	for name, tc := range map[string]struct {
		owner  *metav1.OwnerReference
		labels map[string]string
		want   string
	}{
		"owned":                           {metav1.NewControllerRef(web, history.Kind), map[string]string{"app": "web"}, "web"},
		"owned by another":                {metav1.NewControllerRef(other, history.Kind), map[string]string{"app": "web"}, "other"},
		"owned by another kind":           {&metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web", Controller: new(true)}, map[string]string{"app": "web"}, ""},
		"K-146 an orphan that two select": {nil, map[string]string{"app": "web"}, "also web"},
		"an orphan that one selects":      {nil, map[string]string{"app": "other"}, "other"},
		"an orphan that none selects":     {nil, map[string]string{"app": "third"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-0", Labels: tc.labels}}
			if tc.owner != nil {
				pod.OwnerReferences = []metav1.OwnerReference{*tc.owner}
			}
			var names []string
			for _, request := range r.setsOfPod(t.Context(), pod) {
				names = append(names, request.Name)
			}
			slices.Sort(names)
			if got := strings.Join(names, " "); got != tc.want {
				t.Errorf("looks at %q, want %q", got, tc.want)
			}
		})
	}
	elsewhere := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "web-0", Labels: map[string]string{"app": "web"}}}
	if requests := r.setsOfPod(t.Context(), elsewhere); len(requests) > 0 {
		t.Errorf("a pod of another namespace is looked at: %v", requests)
	}
}

// TestSetsOfClaim: a change of a claim reconciles the sets that have a claim of this name.
func TestSetsOfClaim(t *testing.T) {
	having := func(name string, templates ...string) *api.StatefulSet {
		set := slicetest.NamedSet(name, nil)
		set.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}}
		for _, template := range templates {
			set.Spec.VolumeClaimTemplates = append(set.Spec.VolumeClaimTemplates, *slicetest.Sized(template, "1Gi"))
		}
		return set
	}
	r := &Reconciler{Client: fake.NewClientBuilder().WithScheme(slicetest.Scheme(t)).WithObjects(
		having("web", "data", "logs"), having("b-web", "data", "a"), having("bare")).Build()}
	for name, tc := range map[string]struct{ claim, want string }{
		"of an ordinal, without a label":     {"data-web-0", "web"},
		"of another template":                {"logs-web-12", "web"},
		"of no template of the set":          {"tmp-web-0", ""},
		"of a set without templates":         {"data-bare-0", ""},
		"of a name with a dash":              {"data-b-web-3", "b-web"},
		"of the other name with one":         {"a-b-web-3", "b-web"},
		"of no set":                          {"data-db-0", ""},
		"with no ordinal":                    {"data-web", ""},
		"with one that nobody would give":    {"data-web-00", ""},
		"with one that is larger than it is": {"data-web-2147483648", ""},
		"with a text":                        {"data-web-x", ""},
		"with nothing before it":             {"-web-0", ""},
		"with nothing else":                  {"0", ""},
	} {
		t.Run("X-11 "+name, func(t *testing.T) {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: tc.claim}}
			var names []string
			for _, request := range r.setsOfClaim(t.Context(), claim) {
				names = append(names, request.Name)
			}
			if got := strings.Join(names, " "); got != tc.want {
				t.Errorf("looks at %q, want %q", got, tc.want)
			}
		})
	}
	elsewhere := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "data-web-0"}}
	if requests := r.setsOfClaim(t.Context(), elsewhere); len(requests) > 0 {
		t.Errorf("a claim of another namespace is looked at: %v", requests)
	}
}

// TestPodWatch: which sets are reconciled when a pod is created, changed or deleted.
func TestPodWatch(t *testing.T) {
	web, also, other := slicetest.NamedSet("web", map[string]string{"app": "web"}), slicetest.NamedSet("also", map[string]string{"app": "web"}), slicetest.NamedSet("other", map[string]string{"app": "other"})
	r := &Reconciler{Client: fake.NewClientBuilder().WithScheme(slicetest.Scheme(t)).WithObjects(web, also, other).Build()}
	pod := func(app string, owner *api.StatefulSet) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-0", ResourceVersion: "1", Labels: map[string]string{"app": app}}}
		if owner != nil {
			pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, history.Kind)}
		}
		return pod
	}
	running := pod("web", web)
	running.Status.Phase = corev1.PodRunning
	for name, tc := range map[string]struct {
		// before is nil for a creation, and after is nil for a deletion.
		before, after *corev1.Pod
		want          string
	}{
		"K-137 made, with its owner":                 {nil, pod("web", web), "web"},
		"K-138 made, an orphan that two select":      {nil, pod("web", nil), "also web"},
		"K-139 made, an orphan that none selects":    {nil, pod("third", nil), ""},
		"K-140 its status changes":                   {pod("web", web), running, "web"},
		"K-142 an orphan that two come to select":    {pod("third", nil), pod("web", nil), "also web"},
		"K-143 it gets another owner":                {pod("web", web), pod("web", other), "other web"},
		"K-144 it is let go of":                      {pod("web", web), pod("web", nil), "also web"},
		"K-145 it goes":                              {pod("web", web), nil, "web"},
		"K-145 an orphan goes: who selects it looks": {pod("web", nil), nil, "also web"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := looks(t, r, tc.before, tc.after); got != tc.want {
				t.Errorf("%q look, want %q", got, tc.want)
			}
		})
	}
}

// looks returns the sets that the pod watch reconciles for an event.
func looks(t *testing.T, r *Reconciler, before, after *corev1.Pod) string {
	t.Helper()
	queue := workqueue.NewTypedRateLimitingQueue((&Reconciler{}).patience().TypedRateLimiter)
	defer queue.ShutDown()
	watch, events := handler.EnqueueRequestsFromMapFunc(r.setsOfPod), podEvents()
	switch {
	case before == nil && events.Create(event.CreateEvent{Object: after}):
		watch.Create(t.Context(), event.CreateEvent{Object: after}, queue)
	case after == nil && events.Delete(event.DeleteEvent{Object: before}):
		watch.Delete(t.Context(), event.DeleteEvent{Object: before}, queue)
	case before != nil && after != nil:
		after.ResourceVersion = "2"
		if update := (event.UpdateEvent{ObjectOld: before, ObjectNew: after}); events.Update(update) {
			watch.Update(t.Context(), update, queue)
		}
	}
	var names []string
	for queue.Len() > 0 {
		request, _ := queue.Get()
		names = append(names, request.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// TestPodEvents: a pod update reconciles the set only if it can change a decision. Other writes of the kubelet and the
// scheduler do not.
func TestPodEvents(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"K-141 nothing":            {func(p *corev1.Pod) { p.ResourceVersion = "1"; p.Labels["app"] = "other" }, false},
		"scheduled":                {func(p *corev1.Pod) { p.Spec.NodeName = "node" }, false},
		"prepared":                 {func(p *corev1.Pod) { p.Status.PodIP = "10.0.0.1" }, false},
		"its grace period is over": {func(p *corev1.Pod) { p.DeletionGracePeriodSeconds = new(int64(0)) }, false},
		"labelled":                 {func(p *corev1.Pod) { p.Labels["app"] = "other" }, true},
		"annotated":                {func(p *corev1.Pod) { p.Annotations = map[string]string{"a": "b"} }, true},
		"K-140 running":            {func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }, true},
		"released":                 {func(p *corev1.Pod) { p.OwnerReferences = nil }, true},
		"held":                     {func(p *corev1.Pod) { p.Finalizers = []string{"a/b"} }, true},
		"deleted":                  {func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: slicetest.Noon} }, true},
		"its gate is closed": {func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: api.InPlaceUpdateReady, Status: corev1.ConditionFalse}}
		}, true},
		"anything, updating in place": {func(p *corev1.Pod) { p.Annotations = map[string]string{api.InPlaceUpdateAnnotationKey: "{}"} }, true},
		"Ready":                       {func(p *corev1.Pod) { makeReady(p, slicetest.Noon) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			before := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: "web-0", ResourceVersion: "1", Labels: map[string]string{"app": "web"},
				OwnerReferences: []metav1.OwnerReference{{Name: "web"}},
			}}
			after := before.DeepCopy()
			after.ResourceVersion = "2"
			tc.change(after)
			if got := podEvents().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tc.want {
				t.Errorf("looked at: %t, want %t", got, tc.want)
			}
		})
	}
	t.Run("Ready anew", func(t *testing.T) {
		before := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1"}}
		makeReady(before, slicetest.Noon)
		after := before.DeepCopy()
		after.ResourceVersion = "2"
		makeReady(after, slicetest.Noon.Add(time.Second))
		if !podEvents().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) {
			t.Error("minReadySeconds count from another time, and it is not looked at")
		}
	})
}

func makeReady(pod *corev1.Pod, since time.Time) {
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(since)}}
}

// TestClaimEvents: which changes of a claim reconcile the set.
func TestClaimEvents(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*corev1.PersistentVolumeClaim)
		want   bool
	}{
		"labelled": {func(c *corev1.PersistentVolumeClaim) { c.Labels = map[string]string{"a": "b"} }, false},
		"bound":    {func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimBound }, true},
		"X-10 its driver says that it cannot": {func(c *corev1.PersistentVolumeClaim) {
			c.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{corev1.ResourceStorage: corev1.PersistentVolumeClaimControllerResizeInfeasible}
		}, true},
		"owned":   {func(c *corev1.PersistentVolumeClaim) { c.OwnerReferences = []metav1.OwnerReference{{Name: "web"}} }, true},
		"deleted": {func(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = &metav1.Time{Time: slicetest.Noon} }, true},
		"larger":  {func(c *corev1.PersistentVolumeClaim) { c.Status.Capacity = c.Spec.Resources.Requests }, true},
		"its file system grows with a pod": {func(c *corev1.PersistentVolumeClaim) {
			c.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue}}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			before := slicetest.Sized("data-web-0", "2Gi")
			before.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
			after := before.DeepCopy()
			tc.change(after)
			if got := claimEvents().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tc.want {
				t.Errorf("looked at: %t, want %t", got, tc.want)
			}
		})
	}
}
