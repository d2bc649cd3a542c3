package duel

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sliceshift/sliceshift/e2e/cluster"
	sliceapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// wish is the requested spec of both sets, in the terms of apps/v1.
type wish struct {
	name string
	appsv1.StatefulSetSpec
	// former are the previous templates, the latest at the end.
	former []corev1.PodTemplateSpec
	// images counts the images; each is used once.
	images int
}

const (
	appLabel  = "app"
	lateAfter = "500ms"
	never     = "24h"
)

func newWish(name string, settings Settings) *wish {
	labels := map[string]string{appLabel: name}
	w := &wish{name: name, StatefulSetSpec: appsv1.StatefulSetSpec{
		Replicas: new(settings.Replicas), Ordinals: &appsv1.StatefulSetOrdinals{Start: settings.Start}, ServiceName: "web",
		Selector: &metav1.LabelSelector{MatchLabels: labels}, RevisionHistoryLimit: new(int32(10)),
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web"}}},
		},
		UpdateStrategy: rolling(0, nil),
	}}
	w.newImage("")
	if settings.Parallel {
		w.PodManagementPolicy = appsv1.ParallelPodManagement
	}
	for i := range settings.Claims {
		w.VolumeClaimTemplates = append(w.VolumeClaimTemplates, claimTemplate([]string{"data", "logs"}[i]))
	}
	return w
}

func rolling(partition int32, maxUnavailable *intstr.IntOrString) appsv1.StatefulSetUpdateStrategy {
	return appsv1.StatefulSetUpdateStrategy{
		Type:          appsv1.RollingUpdateStatefulSetStrategyType,
		RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition, MaxUnavailable: maxUnavailable},
	}
}

func claimTemplate(name string) corev1.PersistentVolumeClaim {
	return corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: new(storageClass),
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

// newImage sets a new image in the template. A pod gets Ready readyAfter its creation; empty means at once.
func (w *wish) newImage(readyAfter string) {
	w.images++
	w.Template.Spec.Containers[0].Image = fmt.Sprintf("web:%d", w.images)
	w.Template.Annotations = nil
	if readyAfter != "" {
		w.Template.Annotations = map[string]string{cluster.ReadyDelayAnnotationKey: readyAfter}
	}
}

func (w *wish) partition() int32 {
	if w.UpdateStrategy.RollingUpdate == nil {
		return 0
	}
	return *w.UpdateStrategy.RollingUpdate.Partition
}

// mostUnavailable returns maxUnavailable as a number, rounded up or down.
func (w *wish) mostUnavailable(roundUp bool) int {
	most := 1
	if rolls := w.UpdateStrategy.RollingUpdate; rolls != nil && rolls.MaxUnavailable != nil {
		most, _ = intstr.GetScaledValueFromIntOrPercent(rolls.MaxUnavailable, int(*w.Replicas), roundUp)
	}
	return max(most, 1)
}

func (w *wish) parallel() bool { return w.PodManagementPolicy == appsv1.ParallelPodManagement }

func (w *wish) onDelete() bool {
	return w.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType
}

func (w *wish) owns(ordinal int32) bool {
	return ordinal >= w.Ordinals.Start && ordinal < w.Ordinals.Start+*w.Replicas
}

// inScope reports whether an update covers an ordinal.
func (w *wish) inScope(ordinal int32) bool {
	return w.owns(ordinal) && ordinal >= w.Ordinals.Start+w.partition()
}

// native returns the manifest of apps/v1.
func (w *wish) native(namespace string) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: w.name},
		Spec:       *w.DeepCopy(),
	}
}

// ours returns the same manifest with another apiVersion, where the partition is an ordinal.
func (w *wish) ours(namespace string) (*sliceapi.StatefulSet, error) {
	data, err := json.Marshal(w.native(namespace))
	if err != nil {
		return nil, err
	}
	set := &sliceapi.StatefulSet{}
	if err := json.Unmarshal(data, set); err != nil {
		return nil, err
	}
	set.APIVersion = sliceapi.GroupVersion.String()
	if partition := w.partition(); partition > 0 {
		set.Spec.UpdateStrategy.RollingUpdate.Partition = new(w.Ordinals.Start + min(partition, *w.Replicas))
	}
	return set, nil
}
