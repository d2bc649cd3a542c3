package health

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
)

// jobServer is an API server with Jobs.
type jobServer struct {
	mu  sync.Mutex
	all map[string]*batchv1.Job
	// made counts the created Jobs. refuse answers a creation in its place.
	made   int
	refuse func(http.ResponseWriter)
}

func newJobs() *jobServer { return &jobServer{all: map[string]*batchv1.Job{}} }

func (j *jobServer) server() *clustertest.Pods { return &clustertest.Pods{Before: j.answer} }

func (j *jobServer) answer(w http.ResponseWriter, r *http.Request) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	reply := func(object any) bool {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(object)
		return true
	}
	const of = "/apis/batch/v1/namespaces/shop/jobs"
	switch {
	case r.URL.Path == "/apis":
		version := metav1.GroupVersionForDiscovery{GroupVersion: "batch/v1", Version: "v1"}
		return reply(metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{
			{Name: "batch", Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version},
		}})
	case r.URL.Path == "/apis/batch/v1":
		return reply(metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "batch/v1", APIResources: []metav1.APIResource{
			{Name: "jobs", Kind: "Job", Namespaced: true, Verbs: metav1.Verbs{"get", "create"}},
		}})
	case r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, of+"/"):
		found := j.all[strings.TrimPrefix(r.URL.Path, of+"/")]
		if found == nil {
			clustertest.Refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, "not found")
			return true
		}
		return reply(found)
	case r.Method == http.MethodPost && r.URL.Path == of:
		if j.refuse != nil {
			j.refuse(w)
			return true
		}
		body, _ := io.ReadAll(r.Body)
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		job, is := object.(*batchv1.Job)
		switch {
		case !is:
			clustertest.Refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, fmt.Sprint("no Job: ", err))
			return true
		case j.all[job.Name] != nil:
			clustertest.Refuse(w, http.StatusConflict, metav1.StatusReasonAlreadyExists, "already exists")
			return true
		}
		job.TypeMeta = metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}
		j.all[job.Name] = job
		j.made++
		return reply(job)
	}
	return false
}

// the returns the only Job.
func (j *jobServer) the(t *testing.T) *batchv1.Job {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.all) != 1 {
		t.Fatalf("there are %d Jobs", len(j.all))
	}
	for _, job := range j.all {
		return job
	}
	return nil
}

// drain returns a gate that runs a Job.
func drain() api.HealthGate {
	return api.HealthGate{Name: "leave-the-ring", Job: &api.JobGate{Spec: api.JobSpec{JobSpec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "drain", Image: "tools", Env: []corev1.EnvVar{{Name: "MINE", Value: "$(SLICESHIFT_POD)"}}}},
	}}}}}}
}

func pends(says ...string) want { return want{Pending, api.ReasonGatePending, says, ""} }

func of(uid string, s Subject) Subject {
	s.MigrationUID = "m-1"
	s.PodUID = "p-" + s.PodUID
	if uid != "" {
		s.MigrationUID = "m-2"
	}
	return s
}

// TestJob: a Job is created once, by any number of processes, and its result is the answer.
func TestJob(t *testing.T) {
	t.Parallel()
	server := newJobs()
	sides := sidesOf(t, server.server())
	s := of("", web2)
	looks := s
	looks.Look = true
	pends("does not exist yet").check(t, ask(t.Context(), t, drain(), sides, looks))
	if server.made != 0 {
		t.Fatal("looking has made it")
	}
	pends("was created").check(t, ask(t.Context(), t, drain(), sides, s))
	pends("runs").check(t, ask(t.Context(), t, drain(), sides, s)) // as another process
	job := server.the(t)
	if got := job.Spec.Template.Spec; got.RestartPolicy != corev1.RestartPolicyNever || *job.Spec.ActiveDeadlineSeconds != 600 {
		t.Errorf("it runs as %+v", job.Spec)
	}
	wantEnv := []corev1.EnvVar{
		{Name: "SLICESHIFT_POINT", Value: "AfterStart"},
		{Name: "SLICESHIFT_DIRECTION", Value: "Forward"},
		{Name: "SLICESHIFT_SIDE", Value: "Destination"},
		{Name: "SLICESHIFT_CLUSTER", Value: "east"},
		{Name: "SLICESHIFT_NAMESPACE", Value: "shop"},
		{Name: "SLICESHIFT_STATEFULSET", Value: "web"},
		{Name: "SLICESHIFT_POD", Value: "web-2"},
		{Name: "SLICESHIFT_ORDINAL", Value: "2"},
		{Name: "MINE", Value: "$(SLICESHIFT_POD)"},
	}
	if diff := cmp.Diff(wantEnv, job.Spec.Template.Spec.Containers[0].Env); diff != "" {
		t.Errorf("it is told (-want +got):\n%s", diff)
	}
	if job.Labels[api.MigrationLabelKey] != "m-1" || job.Annotations[api.OwnerAnnotationKey] != "m-1" {
		t.Errorf("it is marked %v, %v", job.Labels, job.Annotations)
	}
	for name, tc := range map[string]struct {
		condition batchv1.JobCondition
		want      want
	}{
		"not yet":   {batchv1.JobCondition{Type: batchv1.JobComplete, Status: corev1.ConditionFalse}, pends("runs")},
		"ends":      {batchv1.JobCondition{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue}, pends("runs")},
		"completed": {batchv1.JobCondition{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}, good("has completed")},
		"failed": {
			batchv1.JobCondition{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "DeadlineExceeded", Message: "too long"},
			bad("DeadlineExceeded", "too long", "kubectl logs -n shop job/leave-the-ring-", "kubectl delete job -n shop leave-the-ring-"),
		},
	} {
		job.Status.Conditions = []batchv1.JobCondition{tc.condition}
		t.Run(name, func(t *testing.T) { tc.want.check(t, ask(t.Context(), t, drain(), sides, s)) })
	}
	if server.made != 1 {
		t.Errorf("it was made %d times", server.made)
	}
}

// TestJobOfAnother: a Job of another owner is not taken for the migration's Job, and a refusal names its
// reason.
func TestJobOfAnother(t *testing.T) {
	t.Parallel()
	server := newJobs()
	sides := sidesOf(t, server.server())
	refused := func(code int, reason metav1.StatusReason, message string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { clustertest.Refuse(w, code, reason, message) }
	}
	for name, tc := range map[string]struct {
		refuse func(http.ResponseWriter)
		want   want
	}{
		"no right":  {refused(403, metav1.StatusReasonForbidden, `jobs is forbidden: User "mover" cannot create resource "jobs"`), none("sliceshift-mover-jobs")},
		"no quota":  {refused(403, metav1.StatusReasonForbidden, "exceeded quota"), none("cannot be created", "exceeded quota", "Allow it there")},
		"a webhook": {refused(500, metav1.StatusReasonInternalError, `Internal error occurred: failed calling webhook "jobs.policy.corp": out of order`), none("cannot be created", `failed calling webhook "jobs.policy.corp": out of order`)},
		"no Job":    {refused(422, metav1.StatusReasonInvalid, "spec.template: Invalid value"), wrong("job.spec is rejected", "Invalid value")},
		"made then": {refused(409, metav1.StatusReasonAlreadyExists, "already exists"), pends("was created")},
	} {
		server.refuse = tc.refuse
		t.Run(name, func(t *testing.T) { tc.want.check(t, ask(t.Context(), t, drain(), sides, of("", web2))) })
	}
	server.refuse = nil
	ask(t.Context(), t, drain(), sides, of("", web2))
	job := server.the(t)
	job.DeletionTimestamp = new(metav1.Now())
	pends("being deleted").check(t, ask(t.Context(), t, drain(), sides, of("", web2)))
	job.Annotations[api.OwnerAnnotationKey] = "somebody"
	wrong("was not created by this migration", "kubectl describe job -n shop leave-the-ring-").check(t, ask(t.Context(), t, drain(), sides, of("", web2)))
}

func TestJobRefused(t *testing.T) {
	t.Parallel()
	for says, change := range map[string]func(*batchv1.JobSpec){
		"no template with containers":          func(s *batchv1.JobSpec) { s.Template.Spec.Containers = nil },
		"job.spec.ttlSecondsAfterFinished: a ": func(s *batchv1.JobSpec) { s.TTLSecondsAfterFinished = new(int32(1)) },
		"job.spec.suspend: a Job":              func(s *batchv1.JobSpec) { s.Suspend = new(true) },
		"job.spec.selector: Jobs":              func(s *batchv1.JobSpec) { s.Selector = &metav1.LabelSelector{} },
	} {
		gate := drain()
		change(&gate.Job.Spec.JobSpec)
		wrong(says).check(t, ask(t.Context(), t, gate, Sides{}, web2))
	}
}

// TestJobNames: each question has its own Job with a valid name, and the same question always has the same
// name.
func TestJobNames(t *testing.T) {
	valid := regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	rapid.Check(t, func(t *rapid.T) {
		gate := drain()
		gate.Name = rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?`).Draw(t, "gate")
		first, err := newJob(gate, Sides{})
		if err != nil {
			t.Fatal(err)
		}
		again, err := newJob(gate, Sides{})
		if err != nil {
			t.Fatal(err)
		}
		s := of("", web2)
		s.Ordinal = new(rapid.Int32().Draw(t, "ordinal"))
		name := first.name(s)
		if !valid.MatchString(name) || len(name) > 63 || name != again.name(s) {
			t.Fatalf("%q, then %q", name, again.name(s))
		}
		other := s
		change := rapid.SampledFrom([]func(){
			func() { other.MigrationUID += "x" }, func() { other.PodUID += "x" }, func() { other.Ordinal = nil },
			func() { other.Direction = "Back" }, func() { other.Point = api.GateBeforeStop }, func() { other.Side = api.GateSource },
			func() { again.spec.BackoffLimit = new(int32(7)) }, func() { again.gate += "x" },
		}).Draw(t, "change")
		if change(); name == again.name(other) {
			t.Fatalf("%q is the name of both", name)
		}
	})
}
