package jobs

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
)

// TestNew: a Job has the mark of its migration, a deadline, and the given environment variables before its own
// ones. The order is not changed.
func TestNew(t *testing.T) {
	spec := batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "first", TerminationMessagePolicy: corev1.TerminationMessageReadFile}},
		Containers:     []corev1.Container{{Name: "tool", Env: []corev1.EnvVar{{Name: "OWN", Value: "$(TOLD)"}}}},
	}}}
	before := spec.DeepCopy()
	job := New(Order{Migration: "m", Namespace: "shop", Name: "leave-1", Spec: spec, Seconds: 30, Told: []corev1.EnvVar{{Name: "TOLD", Value: "1"}}})
	if diff := cmp.Diff(before, &spec); diff != "" {
		t.Errorf("what was ordered has changed:\n%s", diff)
	}
	pod := job.Spec.Template.Spec
	if !Made(job, "m") || Made(job, "n") || *job.Spec.ActiveDeadlineSeconds != 30 || pod.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("made %+v", job)
	}
	want := []corev1.EnvVar{{Name: "TOLD", Value: "1"}, {Name: "OWN", Value: "$(TOLD)"}}
	if diff := cmp.Diff(want, pod.Containers[0].Env); diff != "" || len(pod.InitContainers[0].Env) != 1 {
		t.Errorf("told (-want +got)\n%s", diff)
	}
	if pod.Containers[0].TerminationMessagePolicy != corev1.TerminationMessageFallbackToLogsOnError || pod.InitContainers[0].TerminationMessagePolicy != corev1.TerminationMessageReadFile {
		t.Error("what they say when they end is not kept")
	}
}

// TestEnd: a Job has ended only with a condition that is True.
func TestEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		kind   batchv1.JobConditionType
		status corev1.ConditionStatus
		ends   bool
	}{
		"well": {batchv1.JobComplete, corev1.ConditionTrue, true}, "badly": {batchv1.JobFailed, corev1.ConditionTrue, true},
		"not yet": {batchv1.JobFailed, corev1.ConditionFalse, false}, "soon": {batchv1.JobFailureTarget, corev1.ConditionTrue, false},
	} {
		job := &batchv1.Job{Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: tc.kind, Status: tc.status}}}}
		if end := End(job); (end != nil) != tc.ends {
			t.Errorf("%s: %+v", name, end)
		}
	}
}

// TestLastWords: the exit code and the last line of the container that failed last.
func TestLastWords(t *testing.T) {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "leave", UID: "u"}}
	pod := func(name string, at int64, code int32, said string) client.Object {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{batchv1.ControllerUidLabel: "u"}},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "tool", State: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: said, FinishedAt: metav1.NewTime(time.Unix(at, 0))},
			}}}},
		}
	}
	for name, tc := range map[string]struct {
		pods []client.Object
		want string
	}{
		"none":            {nil, ""},
		"it ends well":    {[]client.Object{pod("a", 1, 0, "well")}, ""},
		"the last line":   {[]client.Object{pod("a", 1, 3, "asking\nno such member\n\n")}, "container tool of pod a has ended with exit code 3: no such member"},
		"K6, unprintable": {[]client.Object{pod("a", 1, 3, "\x1b[2Jdone")}, `container tool of pod a has ended with exit code 3: \u001b[2Jdone`},
		"without a word":  {[]client.Object{pod("a", 1, 3, "")}, "container tool of pod a has ended with exit code 3"},
		"of the last one": {[]client.Object{pod("a", 2, 2, "late"), pod("b", 1, 1, "early")}, "container tool of pod a has ended with exit code 2: late"},
	} {
		said, err := LastWords(t.Context(), clustertest.New(tc.pods...), job)
		if err != nil || said != tc.want {
			t.Errorf("%s: %q, %v", name, said, err)
		}
	}
	refused := errors.New("no")
	failing := clustertest.Hooked(clustertest.Hooks{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return refused }})
	if _, err := LastWords(t.Context(), failing, job); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
}

// TestSecretsOfJobs: the last words of a pod with the content of a Secret are not shown, because they may
// repeat it.
func TestSecretsOfJobs(t *testing.T) {
	const secret = "MarkedPasswordOfAHook"
	env := func(from *corev1.EnvVarSource) func(*corev1.PodSpec) {
		return func(pod *corev1.PodSpec) {
			pod.Containers = []corev1.Container{{Name: "tool", Env: []corev1.EnvVar{{Name: "PASSWORD", ValueFrom: from}}}}
		}
	}
	projected := func(source corev1.VolumeProjection) func(*corev1.PodSpec) {
		return func(pod *corev1.PodSpec) {
			pod.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{source}}}}}
		}
	}
	for name, tc := range map[string]struct {
		change func(*corev1.PodSpec)
		hidden bool
	}{
		"a variable":     {env(&corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "a"}}), true},
		"of a ConfigMap": {env(&corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: "a"}}), false},
		"a whole Secret": {func(pod *corev1.PodSpec) {
			pod.InitContainers = []corev1.Container{{EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{}}}}}
		}, true},
		"a volume": {func(pod *corev1.PodSpec) {
			pod.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{}}}}
		}, true},
		"projected":       {projected(corev1.VolumeProjection{Secret: &corev1.SecretProjection{}}), true},
		"its own account": {projected(corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{}}), false},
		"nothing":         {func(*corev1.PodSpec) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a", Labels: map[string]string{batchv1.ControllerUidLabel: "1"}}}
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "tool", State: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{ExitCode: 3, Message: "no login with " + secret},
			}}}
			tc.change(&pod.Spec)
			said, err := LastWords(t.Context(), clustertest.New(pod), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", UID: "1"}})
			if err != nil {
				t.Fatal(err)
			}
			if hidden := !strings.Contains(said, secret); hidden != tc.hidden || !strings.Contains(said, "exit code 3") {
				t.Errorf("it says %q", said)
			}
		})
	}
}
