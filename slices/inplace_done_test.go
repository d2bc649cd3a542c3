package slices

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// changing is a pod with one container in an update in place, as a kubelet shows it.
type changing struct {
	// spec is the image that the pod asks for; before was noted when it was patched.
	spec   string
	before ranBefore
	// container and restarts are those of the status; waits is true when it does not run.
	container string
	restarts  int32
	waits     bool
	// runs is the image as the container runtime says it.
	runs string
	// generation and observed: 0 when the kubelet does not tell.
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
		pod.Status.ContainerStatuses[1].State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(noon.Add(-time.Hour))}
	}
	return pod
}

// TestDoneInPlace: a container runs what it was changed to when it is another one than before, or
// when the change was taken back before the kubelet acted.
func TestDoneInPlace(t *testing.T) {
	first := ranBefore{ContainerID: "c1", Image: "web:1"}
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
		"X-04 taken back, and said to run it":                {changing{spec: "web:1", before: ranBefore{ContainerID: "c1", Image: "web:2"}, container: "c1", runs: "docker.io/library/web:1"}, true},
		"another container, of before the patch was seen":    {changing{spec: "web:2", before: first, container: "c2", generation: 2, observed: 1}, false},
		"it does not run":                    {changing{spec: "web:2", before: first, container: "c2", waits: true, generation: 2, observed: 2}, false},
		"noted before there was a container": {changing{spec: "web:2", container: "c1", generation: 2, observed: 2}, true},
		"noted by a former version":          {changing{spec: "web:2", before: ranBefore{}, container: "c1"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			progress := progressInPlace{Patched: &noon, Before: map[string]ranBefore{"web": tc.before}}
			if got := progress.done(tc.pod()); got != tc.want {
				t.Errorf("done: %t", got)
			}
		})
	}
	t.Run("nothing is told of it", func(t *testing.T) {
		if (progressInPlace{Patched: &noon, Before: map[string]ranBefore{"web": {}}}).done(&corev1.Pod{}) {
			t.Error("a pod without a status is done")
		}
	})
	t.Run("only metadata", func(t *testing.T) {
		if !(progressInPlace{Patched: &noon}).done(&corev1.Pod{}) {
			t.Error("it waits for a container")
		}
	})
}

// TestUnseenInPlace: a kubelet that does not tell what it has seen has not seen a patch as long as the
// container runs on.
func TestUnseenInPlace(t *testing.T) {
	first := ranBefore{ContainerID: "c1", Image: "web:1"}
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
			if got := (progressInPlace{Before: map[string]ranBefore{"web": tc.before}}).unseen(tc.pod()); got != tc.want {
				t.Errorf("unseen: %t", got)
			}
		})
	}
}

// TestContainersBefore: what is remembered of the containers that others are to follow.
func TestContainersBefore(t *testing.T) {
	first, second := ranBefore{ContainerID: "c1", Image: "web:1"}, ranBefore{ContainerID: "c2", RestartCount: 1, Image: "web:2"}
	running := changing{spec: "web:2", container: "c1", generation: 2, observed: 2}
	acted := changing{spec: "web:2", container: "c2", restarts: 1, generation: 2, observed: 2}
	unacted := changing{spec: "web:2", container: "c2", restarts: 1, generation: 2, observed: 1}
	image := map[string]string{"web": "web:3"}
	type notes = map[string]ranBefore
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
			if diff := cmp.Diff(tc.want, progressInPlace{Before: tc.former}.containersBefore(tc.pod(), tc.change)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	t.Run("without a status", func(t *testing.T) {
		pod := running.pod()
		pod.Status = corev1.PodStatus{}
		if diff := cmp.Diff(notes{"web": {Image: "web:2"}}, progressInPlace{}.containersBefore(pod, image)); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		if diff := cmp.Diff(notes{"web": first}, progressInPlace{Before: notes{"web": first}}.containersBefore(pod, image)); diff != "" {
			t.Errorf("overtaken: -want +got\n%s", diff)
		}
	})
}

// resizing is a pod whose container "web" is resized.
type resizing struct {
	generation, observed int64
	conditions           []corev1.PodCondition
	// has is what the kubelet says that it has; empty: nothing is said.
	has    string
	policy corev1.ResourceResizeRestartPolicy
}

func (r resizing) pod() *corev1.Pod {
	pod := changing{spec: "web:1", container: "c1", generation: r.generation, observed: r.observed}.pod()
	pod.Spec.Containers[1].Resources = requests(corev1.ResourceCPU, "2")
	pod.Spec.Containers[1].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: r.policy}}
	pod.Status.Conditions = r.conditions
	if r.has != "" {
		pod.Status.ContainerStatuses[1].Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(r.has)}}
	}
	return pod
}

// TestResizeInPlace: a resize is done when the kubelet has seen it and none is pending or in progress;
// a pod that only waits for it serves meanwhile.
func TestResizeInPlace(t *testing.T) {
	is := func(kind corev1.PodConditionType, reason string) []corev1.PodCondition {
		return []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: "no room"}}
	}
	over := is(corev1.PodResizeInProgress, "")
	over[1].Status = corev1.ConditionFalse
	infeasible := is(corev1.PodResizePending, corev1.PodReasonInfeasible)
	for name, tc := range map[string]struct {
		resizing
		want InPlace
	}{
		"X-05 not seen":                          {resizing{generation: 2, observed: 1}, InPlace{}},
		"X-05 seen, and done":                    {resizing{generation: 2, observed: 2}, InPlace{Done: true}},
		"X-05 seen, and done, in other words":    {resizing{generation: 2, observed: 2, conditions: over}, InPlace{Done: true}},
		"X-05 in progress":                       {resizing{generation: 2, observed: 2, conditions: is(corev1.PodResizeInProgress, "")}, InPlace{Serves: true}},
		"X-05 in progress, by a restart":         {resizing{generation: 2, observed: 2, conditions: is(corev1.PodResizeInProgress, ""), policy: corev1.RestartContainer}, InPlace{}},
		"X-05 in progress, and failing":          {resizing{generation: 2, observed: 2, conditions: is(corev1.PodResizeInProgress, corev1.PodReasonError), policy: corev1.RestartContainer}, InPlace{Serves: true, Waits: "no room"}},
		"X-05 deferred":                          {resizing{generation: 2, observed: 2, conditions: is(corev1.PodResizePending, corev1.PodReasonDeferred)}, InPlace{Serves: true, Waits: "no room"}},
		"X-05 deferred, by a restart":            {resizing{generation: 2, observed: 2, conditions: is(corev1.PodResizePending, corev1.PodReasonDeferred), policy: corev1.RestartContainer}, InPlace{Serves: true, Waits: "no room"}},
		"X-05 infeasible":                        {resizing{generation: 2, observed: 2, conditions: infeasible}, InPlace{Serves: true, Waits: "no room", Infeasible: true}},
		"X-05 infeasible, the one before":        {resizing{generation: 3, observed: 2, conditions: infeasible}, InPlace{}},
		"X-05 it does not tell, nothing is said": {resizing{generation: 2}, InPlace{Serves: true}},
		"X-05 it does not tell, as before":       {resizing{generation: 2, has: "1"}, InPlace{Serves: true}},
		"X-05 it does not tell, and is done":     {resizing{generation: 2, has: "2000m"}, InPlace{Done: true}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.want.Patched = true
			if diff := cmp.Diff(&tc.want, viewInPlace(&progressInPlace{Patched: &noon, Resized: []string{"web"}}, tc.pod())); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	t.Run("X-05 somebody else's resize is not waited for", func(t *testing.T) {
		pod := resizing{generation: 2, observed: 2, conditions: infeasible}.pod()
		if diff := cmp.Diff(&InPlace{Patched: true, Done: true}, viewInPlace(&progressInPlace{Patched: &noon}, pod)); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
	t.Run("X-05 an image that does not run yet", func(t *testing.T) {
		pod := resizing{generation: 2, observed: 2, conditions: infeasible}.pod()
		progress := &progressInPlace{Patched: &noon, Resized: []string{"web"}, Before: map[string]ranBefore{"web": {ContainerID: "c1", Image: "web:0"}}}
		if got := viewInPlace(progress, pod); got.Serves || !got.Infeasible {
			t.Errorf("%+v", got)
		}
	})
	t.Run("X-05 a container that the pod does not have", func(t *testing.T) {
		if !(progressInPlace{Resized: []string{"gone"}}).done(resizing{generation: 2}.pod()) {
			t.Error("it is waited for")
		}
	})
}

// TestOvertakenInPlace: an update in place that another one overtakes hands on what it has noted, and
// what it did not change stays as somebody else has rewritten it.
func TestOvertakenInPlace(t *testing.T) {
	run := func(t *testing.T, pod *corev1.Pod, action Action, templates map[string]*corev1.PodTemplateSpec) *corev1.Pod {
		t.Helper()
		h, _ := newControl(t, interceptor.Funcs{})
		h.Client = fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(pod).WithStatusSubresource(pod).Build()
		after := &corev1.Pod{}
		if err := h.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), after); err != nil {
			t.Fatal(err)
		}
		h.templates, h.pods[0], action.UID = templates, after, pod.UID
		if err := h.all(t.Context(), []Action{action}); err != nil {
			t.Fatal(err)
		}
		after = &corev1.Pod{}
		if err := h.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), after); err != nil {
			t.Fatal(err)
		}
		return after
	}
	images := func(web string) *corev1.PodTemplateSpec {
		return template(func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image = web })
	}
	templates := map[string]*corev1.PodTemplateSpec{"r1": images("web:1"), "r2": images("web:2"), "meta": template(func(t *corev1.PodTemplateSpec) { t.Labels["tier"] = "back" })}
	patched := func(note progressInPlace, revision string) *corev1.Pod {
		text, err := json.Marshal(note)
		if err != nil {
			t.Fatal(err)
		}
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: "web-0", UID: "u", Generation: 2,
				Labels: map[string]string{"app": "web", "controller-revision-hash": revision}, Annotations: map[string]string{api.InPlaceUpdateAnnotationKey: string(text)},
			},
			Spec:   templates[revision].DeepCopy().Spec,
			Status: corev1.PodStatus{Phase: corev1.PodRunning, ObservedGeneration: 1, ContainerStatuses: []corev1.ContainerStatus{{Name: "web", ContainerID: "c1"}}},
		}
	}
	first := map[string]ranBefore{"web": {ContainerID: "c1", Image: "web:1"}}
	t.Run("X-04 begun", func(t *testing.T) {
		after := run(t, patched(progressInPlace{Revision: "r2", Patched: &noon, Before: first, Resized: []string{"log"}}, "r2"), Action{Verb: BeginInPlace, Revision: "r1"}, templates)
		want := &progressInPlace{Revision: "r1", Since: noon, Before: first, Resized: []string{"log"}}
		if diff := cmp.Diff(want, inPlaceOf(after)); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
	t.Run("X-04 patched", func(t *testing.T) {
		after := run(t, patched(progressInPlace{Revision: "r1", Since: noon, Before: first}, "r2"), Action{Verb: PatchInPlace, Revision: "r1"}, templates)
		want := &progressInPlace{Revision: "r1", Since: noon, Patched: &noon, Before: first}
		if diff := cmp.Diff(want, inPlaceOf(after)); diff != "" || after.Spec.Containers[0].Image != "web:1" {
			t.Errorf("image %s, -want +got\n%s", after.Spec.Containers[0].Image, diff)
		}
	})
	t.Run("X-13 a change of metadata leaves the image that a webhook rewrote", func(t *testing.T) {
		pod := patched(progressInPlace{Revision: "meta", Since: noon}, "r1")
		pod.Spec.Containers[0].Image = "mirror.example/web:1"
		after := run(t, pod, Action{Verb: PatchInPlace, Revision: "meta"}, templates)
		if note := inPlaceOf(after); after.Spec.Containers[0].Image != "mirror.example/web:1" || len(note.Before) > 0 || after.Labels["tier"] != "back" {
			t.Errorf("image %s, note %+v, labels %v", after.Spec.Containers[0].Image, note, after.Labels)
		}
	})
	t.Run("X-13 the image that the pod has already is no change", func(t *testing.T) {
		pod := patched(progressInPlace{Revision: "r2", Since: noon}, "r1")
		pod.Spec.Containers[0].Image = "web:2"
		if note := inPlaceOf(run(t, pod, Action{Verb: PatchInPlace, Revision: "r2"}, templates)); len(note.Before) > 0 {
			t.Errorf("note %+v", note)
		}
	})
}

// errResize is how the API server refuses what a node can never have, and how it refuses a resize for a
// reason that may go.
func errResize(cause metav1.CauseType) error {
	err := apierrors.NewForbidden(corev1.Resource("pods"), "web-1", errors.New("node didn't have enough allocatable resources: cpu"))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: cause})
	return err
}

// refusedResize is a set whose resize the API server refuses, and the UIDs of its pods.
func refusedResize(t *testing.T, policy api.PodUpdatePolicy, refusal error) (*stage, map[string]types.UID) {
	t.Helper()
	s := newStage(t, 2)
	s.change(func(spec *api.StatefulSetSpec) {
		spec.UpdateStrategy.RollingUpdate.PodUpdatePolicy = policy
		spec.Template.Spec.Containers[0].Resources = requests(corev1.ResourceCPU, "1")
	})
	if err := s.passes(10); err != nil {
		t.Fatal(err)
	}
	uids := map[string]types.UID{}
	for name, pod := range s.pods() {
		uids[name] = pod.UID
	}
	s.refuse = func(verb string, _ client.Object) error {
		if verb == "patch resize" {
			return refusal
		}
		return nil
	}
	s.change(func(spec *api.StatefulSetSpec) {
		spec.Template.Spec.Containers[0].Resources = requests(corev1.ResourceCPU, "100")
	})
	return s, uids
}

// TestRefusedResize: what the API server says that no resize can do is as if the kubelet had said it.
func TestRefusedResize(t *testing.T) {
	invalid := apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), "web-1", nil)
	for name, refusal := range map[string]error{"X-05 by its node": errResize("NodeCapacity"), "X-05 by its platform": errResize("UnsupportedPlatform"), "X-05 by its rules": invalid} {
		t.Run(name+", InPlaceOnly: held, and it serves", func(t *testing.T) {
			s, before := refusedResize(t, api.InPlaceOnly, refusal)
			if err := s.passes(20); err != nil {
				t.Fatal(err)
			}
			held := s.condition(api.ConditionHeld)
			if held == nil || held.Status != metav1.ConditionTrue || !strings.Contains(held.Message, "web-1: spec.template.spec.containers[].resources cannot be changed in place") {
				t.Errorf("held: %+v", held)
			}
			pods := s.pods()
			for name, uid := range before {
				if is, _ := readiness(pods[name]); !is || pods[name].UID != uid {
					t.Errorf("%s does not go on: %+v", name, pods[name].Status)
				}
			}
			if inPlaceOf(pods["web-0"]) != nil {
				t.Error("the roll-out went on")
			}
			s.change(func(spec *api.StatefulSetSpec) {
				spec.Template.Spec.Containers[0].Resources = requests(corev1.ResourceCPU, "1")
			})
			if err := s.passes(20); err != nil || inPlaceOf(s.pods()["web-1"]) != nil {
				t.Errorf("taken back: %v, note %+v", err, inPlaceOf(s.pods()["web-1"]))
			}
		})
		t.Run(name+", InPlaceIfPossible: made anew", func(t *testing.T) {
			s, before := refusedResize(t, api.InPlaceIfPossible, refusal)
			if err := s.passes(60); err != nil {
				t.Fatal(err)
			}
			for name, pod := range s.pods() {
				if is, _ := readiness(pod); !is || pod.UID == before[name] || pod.Spec.Containers[0].Resources.Requests.Cpu().Value() != 100 {
					t.Errorf("%s was not made anew", name)
				}
			}
		})
	}
}

// TestResizeRefusedForNow: what may be allowed later is asked for again.
func TestResizeRefusedForNow(t *testing.T) {
	t.Run("X-05 for now: it is asked for again", func(t *testing.T) {
		s, before := refusedResize(t, api.InPlaceIfPossible, errQuota)
		if err := s.passes(20); err == nil {
			t.Error("no refusal is told")
		}
		if now := s.pods()["web-1"]; now.UID != before["web-1"] || s.condition(api.ConditionFailedUpdatePod) == nil {
			t.Errorf("conditions %+v", s.set().Status.Conditions)
		}
	})
}
