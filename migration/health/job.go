package health

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/jobs"
)

// jobAsker runs a Job. The Job's name is derived from the question and its subject. A process that asks again,
// for instance after a crash, finds the existing Job and does not run it twice.
type jobAsker struct {
	gate  string
	side  api.GateSide
	spec  batchv1.JobSpec
	sides Sides
}

func newJob(gate api.HealthGate, sides Sides) (*jobAsker, error) {
	spec := *gate.Job.Spec.JobSpec.DeepCopy()
	switch unfit := api.UnfitJob(gate.Job.Spec); {
	case unfit != "":
		return nil, refuse(api.ReasonGateInvalid, "the Job cannot be run: "+unfit)
	case spec.TTLSecondsAfterFinished != nil:
		return nil, refuse(api.ReasonGateInvalid, "job.spec.ttlSecondsAfterFinished: a deleted Job would be run again; remove this field, and delete the Jobs after the migration")
	}
	spec.ActiveDeadlineSeconds = new(gate.Job.Deadline())
	if spec.Template.Spec.RestartPolicy == "" {
		spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	}
	return &jobAsker{gate.Name, gate.Job.Side, spec, sides}, nil
}

// Ask implements Asker.
func (a *jobAsker) Ask(ctx context.Context, s Subject) Answer {
	which := a.side
	if which == "" {
		which = s.Side
	}
	side := a.sides.at(which)
	wanted := a.job(side, which, s)
	name := fmt.Sprintf("Job %s/%s in cluster %s", wanted.Namespace, wanted.Name, side.Connection.Name())
	live, found := side.Connection.Live(), &batchv1.Job{}
	err := live.Get(ctx, client.ObjectKeyFromObject(wanted), found)
	switch {
	case apierrors.IsNotFound(err) && s.Look:
		return because(api.ReasonGatePending, name+" does not exist yet; the migration creates it at that step")
	case apierrors.IsNotFound(err):
		return made(name, live.Create(ctx, wanted))
	case err != nil:
		return unmade(name, err)
	}
	return judgeJob(name, side.kubectl(), wanted, found)
}

// made returns the answer for a Job that was just created, by this process or concurrently by another one.
func made(name string, err error) Answer {
	switch {
	case err == nil || apierrors.IsAlreadyExists(err):
		return because(api.ReasonGatePending, name+" was created")
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		return because(api.ReasonGateInvalid, fmt.Sprintf("%s cannot be created, because job.spec is rejected: %s", name, endpoint.OneLine(err)))
	case answered(err) && !endpoint.LacksRight(err): // by a quota, a policy or a webhook, or because the namespace is missing
		return because(api.ReasonGateUnanswered, fmt.Sprintf("%s cannot be created: %s. Allow it there; the creation is then retried", name, endpoint.OneLine(err)))
	}
	return unmade(name, err)
}

// answered reports whether an error is the answer of an API server.
func answered(err error) bool {
	_, is := errors.AsType[*apierrors.StatusError](err)
	return is
}

func unmade(name string, err error) Answer {
	if endpoint.LacksRight(err) {
		return because(api.ReasonGateUnanswered, fmt.Sprintf("%s was not run, because a permission is missing: %s. Bind ClusterRole sliceshift-mover-jobs there", name, endpoint.OneLine(err)))
	}
	return because(api.ReasonGateUnanswered, fmt.Sprintf("whether %s has run is unknown: %s", name, endpoint.OneLine(err)))
}

func judgeJob(name string, kubectl shell.Kubectl, wanted, found *batchv1.Job) Answer {
	again := kubectl.Do("delete", "job", "-n", found.Namespace, found.Name)
	if !jobs.Made(found, types.UID(wanted.Annotations[api.OwnerAnnotationKey])) {
		return because(api.ReasonGateInvalid, fmt.Sprintf("%s was not created by this migration, but uses the name of its Job; see what created it, and delete it when nothing needs it: %s", name, kubectl.Do("describe", "job", "-n", found.Namespace, found.Name)))
	}
	if found.DeletionTimestamp != nil {
		return because(api.ReasonGatePending, name+" is being deleted, and is then run again")
	}
	switch end := jobs.End(found); {
	case end == nil:
		return because(api.ReasonGatePending, fmt.Sprintf("%s runs, with %s", name, jobs.Running(found)))
	case end.Type == batchv1.JobComplete:
		return passed("%s has completed", name)
	default:
		return because(api.ReasonGateFailed, fmt.Sprintf("%s has failed (%s): %s. Its logs: %s; to run it again: %s",
			name, end.Reason, end.Message, kubectl.Do("logs", "-n", found.Namespace, "job/"+found.Name), again))
	}
}

// job returns the Job of a question.
func (a *jobAsker) job(side Side, which api.GateSide, s Subject) *batchv1.Job {
	return jobs.New(jobs.Order{
		Migration: s.MigrationUID, Namespace: side.Namespace, Name: a.name(s), Spec: a.spec, Seconds: *a.spec.ActiveDeadlineSeconds, Told: toldTo(which, s),
	})
}

// toldTo returns the environment variables of a Job.
func toldTo(which api.GateSide, s Subject) []corev1.EnvVar {
	return []corev1.EnvVar{
		{Name: "SLICESHIFT_POINT", Value: string(s.Point)},
		{Name: "SLICESHIFT_DIRECTION", Value: s.Direction},
		{Name: "SLICESHIFT_SIDE", Value: string(which)},
		{Name: "SLICESHIFT_CLUSTER", Value: s.Cluster},
		{Name: "SLICESHIFT_NAMESPACE", Value: s.Namespace},
		{Name: "SLICESHIFT_STATEFULSET", Value: s.StatefulSet},
		{Name: "SLICESHIFT_POD", Value: s.Pod},
		{Name: "SLICESHIFT_ORDINAL", Value: s.variables()["ordinal"]},
	}
}

// name returns the name of a Job, which differs for another pod, direction or spec. An ordinal that passes a
// second time, and a spec that was fixed, have a new Job.
func (a *jobAsker) name(s Subject) string {
	const longest, digits = 63, 16 // the Job's name is a label of its pods
	identity, err := json.Marshal([]any{s.MigrationUID, a.gate, a.side, a.spec, s.Point, s.Side, s.Ordinal, s.PodUID, s.Direction})
	if err != nil {
		panic(err) // values of the API can always be encoded as JSON
	}
	sum := sha256.Sum256(identity)
	prefix := a.gate[:min(len(a.gate), longest-digits-1)]
	return strings.TrimRight(prefix, "-") + "-" + hex.EncodeToString(sum[:])[:digits]
}
