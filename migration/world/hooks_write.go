package world

import (
	"context"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/jobs"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// HookJob returns the Job of a hook's turn. It is held until its UID is recorded: a Job that has run and was deleted
// before it was observed would run again.
func HookJob(sides *endpoint.Pair, migration types.UID, t plan.HookTurn) *batchv1.Job {
	job := jobs.New(jobs.Order{
		Migration: migration, Namespace: sides.At(t.Side).Namespace, Name: t.Run.Job, Spec: t.Hook.Job.Spec.JobSpec,
		Seconds: int64(t.Hook.Deadline().Seconds()), Told: toldTo(sides, t),
	})
	jobs.Hold(job)
	return job
}

// startHook releases the Job of a hook.
func startHook(ctx context.Context, at endpoint.Endpoint, effect plan.Effect) (client.Object, error) {
	data, err := jobs.Release(effect.UID, effect.ResourceVersion)
	if err != nil {
		return nil, err
	}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: at.Namespace, Name: effect.Name}}
	return job, at.Live.Patch(ctx, job, client.RawPatch(types.MergePatchType, data))
}

// toldTo returns the environment variables of the Job of a hook.
func toldTo(sides *endpoint.Pair, t plan.HookTurn) []corev1.EnvVar {
	about, side, pod, ordinal := sides.At(t.About), api.GateSource, "", ""
	if t.Side == plan.DestinationSide {
		side = api.GateDestination
	}
	if t.Run.Ordinal != nil {
		pod, ordinal = plan.PodName(about.Set, *t.Run.Ordinal), strconv.Itoa(int(*t.Run.Ordinal))
	}
	return []corev1.EnvVar{
		{Name: "SLICESHIFT_HOOK", Value: t.Hook.Name},
		{Name: "SLICESHIFT_POINT", Value: string(t.Hook.Point)},
		{Name: "SLICESHIFT_ATTEMPT", Value: strconv.Itoa(int(t.Run.Attempt))},
		{Name: "SLICESHIFT_DIRECTION", Value: string(t.Direction)},
		{Name: "SLICESHIFT_SIDE", Value: string(side)},
		{Name: "SLICESHIFT_CLUSTER", Value: about.Cluster},
		{Name: "SLICESHIFT_NAMESPACE", Value: about.Namespace},
		{Name: "SLICESHIFT_STATEFULSET", Value: about.Set},
		{Name: "SLICESHIFT_POD", Value: pod},
		{Name: "SLICESHIFT_ORDINAL", Value: ordinal},
	}
}
