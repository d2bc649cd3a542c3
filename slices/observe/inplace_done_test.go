package observe

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
)

// changing is a pod with one container in an in-place update, as reported by a kubelet.
type changing struct {
	// spec is the image in the pod's spec. before was recorded at the patch.
	spec   string
	before RanBefore
	// container and restarts are those of the status. waits is true when it does not run.
	container string
	restarts  int32
	waits     bool
	// runs is the image as reported by the container runtime.
	runs string
	// generation and observed are 0 if the kubelet does not report them.
	generation, observed int64
}

func (c changing) pod() *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Generation: c.generation},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "log", Image: "log:1"}, {Name: "web", Image: c.spec}}},
		Status: corev1.PodStatus{ObservedGeneration: c.observed, ContainerStatuses: []corev1.ContainerStatus{
			{Name: "log", ContainerID: "log-1"}, {Name: "web", ContainerID: c.container, RestartCount: c.restarts, Image: c.runs, ImageID: "a"},
		}},
	}
	if !c.waits {
		// Long before the patch, by the clock of the node.
		pod.Status.ContainerStatuses[1].State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(slicetest.Noon.Add(-time.Hour))}
	}
	return pod
}

// TestDoneInPlace: the update of a container is complete when the container was replaced, or when the change was reverted
// before the kubelet acted.
func TestDoneInPlace(t *testing.T) {
	first := RanBefore{ContainerID: "c1", Image: "web:1"}
	for name, tc := range map[string]struct {
		changing
		want bool
	}{
		"R-065 as before": {changing{spec: "web:2", before: first, container: "c1", generation: 2, observed: 2}, false},
		"R-065 another container, of the same image ID":      {changing{spec: "web:2", before: first, container: "c2", generation: 2, observed: 2}, true},
		"X-04 another container, by a clock that is behind":  {changing{spec: "web:2", before: first, container: "c2"}, true},
		"X-04 the container was restarted":                   {changing{spec: "web:2", before: first, container: "c1", restarts: 1}, true},
		"X-04 taken back, and the kubelet has seen it":       {changing{spec: "web:1", before: first, container: "c1", generation: 3, observed: 3}, true},
		"X-04 taken back, and the kubelet has not seen it":   {changing{spec: "web:1", before: first, container: "c1", generation: 3, observed: 2}, false},
		"X-04 taken back after the kubelet acted":            {changing{spec: "web:1", before: first, container: "c3", restarts: 2, generation: 3, observed: 3}, true},
		"X-04 taken back, the first one has stopped already": {changing{spec: "web:1", before: first, container: "c1", waits: true, generation: 3, observed: 3}, false},
		"X-04 taken back, the kubelet does not tell":         {changing{spec: "web:1", before: first, container: "c1", generation: 3}, false},
		"X-04 taken back, and said to run it":                {changing{spec: "web:1", before: RanBefore{ContainerID: "c1", Image: "web:2"}, container: "c1", runs: "docker.io/library/web:1"}, true},
		"another container, of before the patch was seen":    {changing{spec: "web:2", before: first, container: "c2", generation: 2, observed: 1}, false},
		"it does not run":                    {changing{spec: "web:2", before: first, container: "c2", waits: true, generation: 2, observed: 2}, false},
		"noted before there was a container": {changing{spec: "web:2", container: "c1", generation: 2, observed: 2}, true},
		"noted by a former version":          {changing{spec: "web:2", before: RanBefore{}, container: "c1"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			progress := ProgressInPlace{Patched: &slicetest.Noon, Before: map[string]RanBefore{"web": tc.before}}
			if got := progress.done(tc.pod()); got != tc.want {
				t.Errorf("done: %t", got)
			}
		})
	}
	t.Run("nothing is told of it", func(t *testing.T) {
		if (ProgressInPlace{Patched: &slicetest.Noon, Before: map[string]RanBefore{"web": {}}}).done(&corev1.Pod{}) {
			t.Error("a pod without a status is done")
		}
	})
	t.Run("only metadata", func(t *testing.T) {
		if !(ProgressInPlace{Patched: &slicetest.Noon}).done(&corev1.Pod{}) {
			t.Error("it waits for a container")
		}
	})
}

// TestUnseenInPlace: a kubelet that does not report the observed generation has not observed a patch while the container
// keeps running.
func TestUnseenInPlace(t *testing.T) {
	first := RanBefore{ContainerID: "c1", Image: "web:1"}
	for name, tc := range map[string]struct {
		changing
		want bool
	}{
		"X-04 it runs on":             {changing{spec: "web:2", before: first, container: "c1"}, true},
		"it is another one":           {changing{spec: "web:2", before: first, container: "c2"}, false},
		"it was stopped":              {changing{spec: "web:2", before: first, container: "c1", waits: true}, false},
		"its kubelet will tell of it": {changing{spec: "web:2", before: first, container: "c1", generation: 2, observed: 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (ProgressInPlace{Before: map[string]RanBefore{"web": tc.before}}).unseen(tc.pod()); got != tc.want {
				t.Errorf("unseen: %t", got)
			}
		})
	}
}

// TestContainersBefore: the recorded state of the containers that will be replaced.
func TestContainersBefore(t *testing.T) {
	first, second := RanBefore{ContainerID: "c1", Image: "web:1"}, RanBefore{ContainerID: "c2", RestartCount: 1, Image: "web:2"}
	running := changing{spec: "web:2", container: "c1", generation: 2, observed: 2}
	acted := changing{spec: "web:2", container: "c2", restarts: 1, generation: 2, observed: 2}
	unacted := changing{spec: "web:2", container: "c2", restarts: 1, generation: 2, observed: 1}
	image := map[string]string{"web": "web:3"}
	type notes = map[string]RanBefore
	for name, tc := range map[string]struct {
		changing
		former notes
		change map[string]string
		want   notes
	}{
		"none":                                   {running, nil, nil, notes{}},
		"one":                                    {acted, nil, image, notes{"web": second}},
		"X-04 overtaken before the kubelet acts": {running, notes{"web": first}, image, notes{"web": first}},
		"X-04 overtaken after it":                {acted, notes{"web": first}, image, notes{"web": second}},
		"X-04 overtaken, it has crashed":         {unacted, notes{"web": first}, image, notes{"web": {ContainerID: "c2", RestartCount: 1}}},
		"X-04 of another container, unfinished":  {running, notes{"web": first}, map[string]string{"log": "log:2"}, notes{"web": first, "log": {ContainerID: "log-1", Image: "log:1"}}},
		"X-04 of another container, finished":    {acted, notes{"web": first}, nil, notes{}},
		"X-04 of another container, not seen":    {unacted, notes{"web": first}, nil, notes{"web": first}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ProgressInPlace{Before: tc.former}.ContainersBefore(tc.pod(), tc.change)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	t.Run("without a status", func(t *testing.T) {
		pod := running.pod()
		pod.Status = corev1.PodStatus{}
		if diff := cmp.Diff(notes{"web": {Image: "web:2"}}, ProgressInPlace{}.ContainersBefore(pod, image)); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		if diff := cmp.Diff(notes{"web": first}, ProgressInPlace{Before: notes{"web": first}}.ContainersBefore(pod, image)); diff != "" {
			t.Errorf("overtaken: -want +got\n%s", diff)
		}
	})
}

// resizing is a pod whose container "web" is resized.
type resizing struct {
	generation, observed int64
	conditions           []corev1.PodCondition
	// has are the resources that the kubelet reports. Empty means none.
	has    string
	policy corev1.ResourceResizeRestartPolicy
}

func (r resizing) pod() *corev1.Pod {
	pod := changing{spec: "web:1", container: "c1", generation: r.generation, observed: r.observed}.pod()
	pod.Spec.Containers[1].Resources = slicetest.Requests(corev1.ResourceCPU, "2")
	pod.Spec.Containers[1].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: r.policy}}
	pod.Status.Conditions = r.conditions
	if r.has != "" {
		pod.Status.ContainerStatuses[1].Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(r.has)}}
	}
	return pod
}

// TestResizeInPlace: a resize is complete when the kubelet has observed it and none is pending or in progress. A pod that
// only waits for it serves meanwhile.
func TestResizeInPlace(t *testing.T) {
	is := func(kind corev1.PodConditionType, reason string) []corev1.PodCondition {
		return []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: "no room"}}
	}
	over := is(corev1.PodResizeInProgress, "")
	over[1].Status = corev1.ConditionFalse
	infeasible := is(corev1.PodResizePending, corev1.PodReasonInfeasible)
	for name, tc := range map[string]struct {
		resizing
		want decide.InPlace
	}{
		"X-05 not seen":                          {resizing{generation: 2, observed: 1}, decide.InPlace{}},
		"X-05 seen, and done":                    {resizing{generation: 2, observed: 2}, decide.InPlace{Done: true}},
		"X-05 seen, and done, in other words":    {resizing{generation: 2, observed: 2, conditions: over}, decide.InPlace{Done: true}},
		"X-05 in progress":                       {resizing{generation: 2, observed: 2, conditions: is(corev1.PodResizeInProgress, "")}, decide.InPlace{Serves: true}},
		"X-05 in progress, by a restart":         {resizing{generation: 2, observed: 2, conditions: is(corev1.PodResizeInProgress, ""), policy: corev1.RestartContainer}, decide.InPlace{}},
		"X-05 in progress, and failing":          {resizing{generation: 2, observed: 2, conditions: is(corev1.PodResizeInProgress, corev1.PodReasonError), policy: corev1.RestartContainer}, decide.InPlace{Serves: true, Waits: "no room"}},
		"X-05 deferred":                          {resizing{generation: 2, observed: 2, conditions: is(corev1.PodResizePending, corev1.PodReasonDeferred)}, decide.InPlace{Serves: true, Waits: "no room"}},
		"X-05 deferred, by a restart":            {resizing{generation: 2, observed: 2, conditions: is(corev1.PodResizePending, corev1.PodReasonDeferred), policy: corev1.RestartContainer}, decide.InPlace{Serves: true, Waits: "no room"}},
		"X-05 infeasible":                        {resizing{generation: 2, observed: 2, conditions: infeasible}, decide.InPlace{Serves: true, Waits: "no room", Infeasible: true}},
		"X-05 infeasible, the one before":        {resizing{generation: 3, observed: 2, conditions: infeasible}, decide.InPlace{}},
		"X-05 it does not tell, nothing is said": {resizing{generation: 2}, decide.InPlace{Serves: true}},
		"X-05 it does not tell, as before":       {resizing{generation: 2, has: "1"}, decide.InPlace{Serves: true}},
		"X-05 it does not tell, and is done":     {resizing{generation: 2, has: "2000m"}, decide.InPlace{Done: true}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.want.Patched = true
			if diff := cmp.Diff(&tc.want, viewInPlace(&ProgressInPlace{Patched: &slicetest.Noon, Resized: []string{"web"}}, tc.pod())); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	t.Run("X-05 somebody else's resize is not waited for", func(t *testing.T) {
		pod := resizing{generation: 2, observed: 2, conditions: infeasible}.pod()
		if diff := cmp.Diff(&decide.InPlace{Patched: true, Done: true}, viewInPlace(&ProgressInPlace{Patched: &slicetest.Noon}, pod)); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
	t.Run("X-05 an image that does not run yet", func(t *testing.T) {
		pod := resizing{generation: 2, observed: 2, conditions: infeasible}.pod()
		progress := &ProgressInPlace{Patched: &slicetest.Noon, Resized: []string{"web"}, Before: map[string]RanBefore{"web": {ContainerID: "c1", Image: "web:0"}}}
		if got := viewInPlace(progress, pod); got.Serves || !got.Infeasible {
			t.Errorf("%+v", got)
		}
	})
	t.Run("X-05 a container that the pod does not have", func(t *testing.T) {
		if !(ProgressInPlace{Resized: []string{"gone"}}).done(resizing{generation: 2}.pod()) {
			t.Error("it is waited for")
		}
	})
}

// TestInPlaceOf: a pod is in an in-place update if it has a readable record.
func TestInPlaceOf(t *testing.T) {
	for text, want := range map[string]*ProgressInPlace{
		"":  nil,
		"x": nil,
		`{"revision":"r2","since":"2026-01-01T12:00:00Z"}`: {Revision: "r2", Since: slicetest.Noon},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{api.InPlaceUpdateAnnotationKey: text}}}
		if diff := cmp.Diff(want, InPlaceOf(pod)); diff != "" {
			t.Errorf("%q: -want +got\n%s", text, diff)
		}
	}
}
