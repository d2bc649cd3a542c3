package preflight

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/preflight/environment"
	"github.com/sliceshift/sliceshift/migration/world"
)

// admits dry-runs the pod of an ordinal at the destination's API server. Pod Security, quotas, webhooks and policies
// for pods do not check a StatefulSet, and the first ordinal would be stopped and could not start. Within one
// namespace the dry run would be of a second pod, and the running pods have already been admitted.
func (e *Inspector) admits(ctx context.Context, source *appsv1.StatefulSet, ordinal int32) (rehearsedPod, error) {
	at := e.Destination
	if e.SameCluster() && e.Source.Namespace == at.Namespace {
		return rehearsedPod{}, nil
	}
	pod := podOf(at, source, ordinal)
	err := at.Live.Create(ctx, pod, client.DryRunAll)
	if err != nil && endpoint.LacksRight(err) {
		return rehearsedPod{finding: &plan.Finding{
			Reason: api.ReasonPermissionMissing, Object: at.Object(), Warning: true,
			Message: fmt.Sprintf("cannot dry-run pod %s/%s in cluster %s: %s", pod.Namespace, pod.Name, at.Cluster, endpoint.OneLine(err)),
			Remedy:  plan.RemedyRights,
		}}, nil
	}
	answer := rehearsedPod{asked: err == nil}
	if err == nil || apierrors.IsNotFound(err) {
		answer.pod, answer.ordinal = pod, ordinal
	}
	answer.finding, err = rehearsal(at, pod, err)
	return answer, err
}

// podOf returns the pod of an ordinal at a side, as the StatefulSet controller would create it (kubernetes
// stateful_set_utils.go, newStatefulSetPod, initIdentity, updateStorage). Its owner may not exist yet, so the owner
// reference has an unused UID. It does not block the owner's deletion, which would need another right
// (OwnerReferencesPermissionEnforcement).
func podOf(at endpoint.Endpoint, source *appsv1.StatefulSet, ordinal int32) *corev1.Pod {
	template := source.Spec.Template.DeepCopy()
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.Name = at.Namespace, plan.PodName(at.Set, ordinal)
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels[appsv1.StatefulSetPodNameLabel] = pod.Name
	pod.Labels[appsv1.PodIndexLabel] = strconv.Itoa(int(ordinal))
	if revision := source.Status.UpdateRevision; revision != "" {
		pod.Labels[appsv1.ControllerRevisionHashLabelKey] = revision
	}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: at.APIVersion, Kind: "StatefulSet", Name: at.Set, UID: world.Unborn, Controller: new(true)}}
	pod.Spec.Hostname, pod.Spec.Subdomain = pod.Name, source.Spec.ServiceName
	for _, name := range world.ClaimTemplates(source) {
		pod.Spec.Volumes = slices.DeleteFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == name })
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: plan.ClaimName(name, at.Set, ordinal)},
		}})
	}
	return pod
}

// admission calls admits for the first ordinal that moves.
func (e *Inspector) admission(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet) ([]plan.Finding, error) {
	answer, err := e.rehearsed(ctx, m, source)
	if answer.finding == nil || err != nil {
		return nil, err
	}
	return []plan.Finding{*answer.finding}, nil
}

// rehearsed dry-runs, once for all checks, the pod of the first ordinal that moves.
func (e *Inspector) rehearsed(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet) (rehearsedPod, error) {
	ordinals := movingOrdinals(m, source)
	if len(ordinals) == 0 {
		return rehearsedPod{}, nil
	}
	return e.reads().pod.of(func() (rehearsedPod, error) {
		source, err := e.withAccount(ctx, m, source)
		if err != nil {
			return rehearsedPod{}, err
		}
		return e.admits(ctx, source, ordinals[0])
	})
}

// rehearsedPod is the destination's answer to the dry run of a pod.
type rehearsedPod struct {
	// pod has the fields that the API server would store; nil if it was refused or the right is missing.
	pod     *corev1.Pod
	ordinal int32
	// asked is false if its namespace does not exist yet.
	asked bool
	// finding is a refusal or a warning; nil if there is neither.
	finding *plan.Finding
}

// running compares the running pod of the first ordinal that moves with the pod that the destination would store. A
// pod of another revision has another template and is not compared.
func (e *Inspector) running(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet) ([]plan.Finding, error) {
	answer, err := e.rehearsed(ctx, m, source)
	if answer.pod == nil || err != nil {
		return nil, err
	}
	pod, err := endpoint.Get[corev1.Pod](ctx, e.Source.Live, e.Source.Key(plan.PodName(source.Name, answer.ordinal)))
	if pod == nil || err != nil || pod.Labels[appsv1.ControllerRevisionHashLabelKey] != source.Status.UpdateRevision {
		return nil, err
	}
	return environment.Otherwise(e.Pair, pod, answer.pod, answer.asked), nil
}
