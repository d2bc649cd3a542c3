// Package jobs creates and reads the Jobs that a migration runs for gates and hooks: their names, marks,
// environment variables and results. It makes no decisions.
package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/printable"
)

// Order is the description of a Job to run.
type Order struct {
	// Migration is the UID of the migration that runs it.
	Migration       types.UID
	Namespace, Name string
	Spec            batchv1.JobSpec
	// Seconds is its active deadline.
	Seconds int64
	// Told lists environment variables for all of its containers.
	Told []corev1.EnvVar
}

// New returns the Job of an order.
func New(o Order) *batchv1.Job {
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.Namespace, Name: o.Name,
			Labels:      map[string]string{api.MigrationLabelKey: string(o.Migration), "app.kubernetes.io/managed-by": api.FieldManager},
			Annotations: map[string]string{api.OwnerAnnotationKey: string(o.Migration)},
		},
		Spec: *o.Spec.DeepCopy(),
	}
	job.Spec.ActiveDeadlineSeconds = new(o.Seconds)
	pod := &job.Spec.Template.Spec
	if pod.RestartPolicy == "" {
		pod.RestartPolicy = corev1.RestartPolicyNever
	}
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			each := &containers[i]
			each.Env = append(slices.Clip(slices.Clone(o.Told)), each.Env...)
			if each.TerminationMessagePolicy == "" {
				each.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError // the last words are shown
			}
		}
	}
	return job
}

// Hold creates the Job suspended until Release resumes it.
func Hold(job *batchv1.Job) {
	job.Annotations[api.HeldAnnotationKey] = "true"
	job.Spec.Suspend = new(true)
}

// Held reports whether a Job that was created with Hold has not been released. A Job that another client has
// suspended is not held.
func Held(job *batchv1.Job) bool {
	return job.Annotations[api.HeldAnnotationKey] != "" && job.Spec.Suspend != nil && *job.Spec.Suspend
}

// Release returns the merge patch that resumes a Job, with its UID and resourceVersion as preconditions.
func Release(uid types.UID, resourceVersion string) ([]byte, error) {
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": uid, "resourceVersion": resourceVersion, "annotations": map[string]any{api.HeldAnnotationKey: nil}},
		"spec":     map[string]any{"suspend": false},
	})
}

// Made reports whether a Job was created by a migration.
func Made(job *batchv1.Job, migration types.UID) bool {
	return job.Annotations[api.OwnerAnnotationKey] == string(migration)
}

// End returns the condition with which a Job has ended; nil if it has not.
func End(job *batchv1.Job) *batchv1.JobCondition {
	for i := range job.Status.Conditions {
		c := &job.Status.Conditions[i]
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
			return c
		}
	}
	return nil
}

// Running describes the progress of a Job that has not ended.
func Running(job *batchv1.Job) string {
	return fmt.Sprintf("%d pods active and %d failed", job.Status.Active, job.Status.Failed)
}

// LastWords returns the exit code and the last line of the message of the Job's container that failed last;
// empty if no pod has them. It omits the message of a pod that has the content of a Secret.
func LastWords(ctx context.Context, reader client.Reader, job *batchv1.Job) (string, error) {
	var pods corev1.PodList
	err := reader.List(ctx, &pods, client.InNamespace(job.Namespace), client.MatchingLabels{batchv1.ControllerUidLabel: string(job.UID)})
	if err != nil {
		return "", err
	}
	var last *corev1.ContainerStateTerminated
	said := ""
	for _, pod := range pods.Items {
		for _, c := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
			ended := c.State.Terminated
			if ended == nil || ended.ExitCode == 0 || last != nil && ended.FinishedAt.Before(&last.FinishedAt) {
				continue
			}
			last, said = ended, fmt.Sprintf("container %s of pod %s has ended with exit code %d", c.Name, pod.Name, ended.ExitCode)
			switch line := lastLine(ended.Message); {
			case line == "":
			case readsSecret(&pod.Spec):
				said += ", and its message is not shown, because the pod has the content of a Secret: it is in the log of the Job"
			default:
				said += ": " + printable.Text(line)
			}
		}
	}
	return said, nil
}

// readsSecret reports whether a pod has the content of a Secret that its template names, which a message of the
// pod may repeat. The token of the pod's account does not count, because nearly every pod has one.
func readsSecret(pod *corev1.PodSpec) bool {
	mounted := slices.ContainsFunc(pod.Volumes, func(volume corev1.Volume) bool {
		projected := volume.Projected != nil && slices.ContainsFunc(volume.Projected.Sources, func(source corev1.VolumeProjection) bool { return source.Secret != nil })
		return volume.Secret != nil || projected
	})
	return mounted || slices.ContainsFunc(slices.Concat(pod.InitContainers, pod.Containers), func(c corev1.Container) bool {
		return slices.ContainsFunc(c.EnvFrom, func(from corev1.EnvFromSource) bool { return from.SecretRef != nil }) ||
			slices.ContainsFunc(c.Env, func(env corev1.EnvVar) bool { return env.ValueFrom != nil && env.ValueFrom.SecretKeyRef != nil })
	})
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

// PodRefused returns the error of a dry run that creates the pod of a Job; nil if it is accepted. Pod Security,
// quotas and webhooks refuse pods, and no Job reports that.
func PodRefused(ctx context.Context, writer client.Writer, job *batchv1.Job) error {
	template := job.Spec.Template.DeepCopy()
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.Name, pod.GenerateName = job.Namespace, "", job.Name+"-"
	return writer.Create(ctx, pod, client.DryRunAll)
}
