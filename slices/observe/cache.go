package observe

import (
	"maps"
	"reflect"
	"slices"
	"unique"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// CacheOptions adds transforms for the objects of this controller to the options of a manager's cache. They remove the
// fields that no decision needs, mostly of pods. The scope of the options is not changed.
//
// A pod from this cache must not be updated as a whole, because the removed fields would be lost. It is patched, its
// containers by a strategic merge patch.
func CacheOptions(options cache.Options) cache.Options {
	options.ByObject = maps.Clone(options.ByObject)
	if options.ByObject == nil {
		options.ByObject = map[client.Object]cache.ByObject{}
	}
	for _, object := range []client.Object{&corev1.Pod{}, &corev1.PersistentVolumeClaim{}, &appsv1.ControllerRevision{}, &api.StatefulSet{}, &corev1.Node{}} {
		for given := range options.ByObject {
			if reflect.TypeOf(given) == reflect.TypeOf(object) {
				object = given
			}
		}
		scope := options.ByObject[object]
		scope.Transform = cache.TransformStripManagedFields()
		if _, pod := object.(*corev1.Pod); pod {
			scope.Transform = newTrimmer().trim
		}
		options.ByObject[object] = scope
	}
	return options
}

// revisionsKept is the number of revisions whose pods share their common parts.
const revisionsKept = 2048

// trimmer trims pods for a cache.
type trimmer struct {
	// revisions holds the common parts of pods, by owner and revision.
	revisions *lru.Cache
}

func newTrimmer() trimmer { return trimmer{lru.New(revisionsKept)} }

// trim removes the fields of a pod that no decision needs. It leaves a pod from the cache unchanged, because other
// goroutines read it. Only a pod from the API server has managed fields.
func (t trimmer) trim(object any) (any, error) {
	if pod, is := object.(*corev1.Pod); is && pod.ManagedFields != nil {
		trimPod(pod)
		t.share(pod)
	}
	return object, nil
}

// common holds the parts that are usually equal in all pods of a revision, a quarter of a trimmed pod.
type common struct {
	owners     []metav1.OwnerReference
	init, main []corev1.Container
}

// share replaces the common parts of a pod by equal ones of another pod of its revision.
func (t trimmer) share(pod *corev1.Pod) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return
	}
	own := common{pod.OwnerReferences, pod.Spec.InitContainers, pod.Spec.Containers}
	key := types.NamespacedName{Namespace: string(owner.UID), Name: pod.Labels[appsv1.StatefulSetRevisionLabel]}
	known, _ := t.revisions.Get(key)
	if kept, is := known.(common); is && reflect.DeepEqual(kept, own) {
		pod.OwnerReferences, pod.Spec.InitContainers, pod.Spec.Containers = kept.owners, kept.init, kept.main
		return
	}
	t.revisions.Add(key, own)
}

func trimPod(pod *corev1.Pod) {
	pod.ManagedFields = nil
	pod.Labels = sharedLabels(pod)
	share(&pod.Namespace)
	for i := range pod.OwnerReferences {
		owner := &pod.OwnerReferences[i]
		share(&owner.APIVersion, &owner.Kind, &owner.Name, (*string)(&owner.UID))
	}
	trimSpec(&pod.Spec)
	trimStatus(&pod.Status, pod.Spec.ReadinessGates)
}

// share deduplicates equal strings of many pods.
func share(texts ...*string) {
	for _, text := range texts {
		*text = unique.Make(*text).Value()
	}
}

func sharedLabels(pod *corev1.Pod) map[string]string {
	if pod.Labels == nil {
		return nil
	}
	labels := make(map[string]string, len(pod.Labels))
	for key, value := range pod.Labels {
		share(&key)
		if value == pod.Name {
			value = pod.Name
		} else {
			share(&value)
		}
		labels[key] = value
	}
	return labels
}

func trimSpec(spec *corev1.PodSpec) {
	*spec = corev1.PodSpec{
		Volumes:        only(spec.Volumes, isNeeded),
		InitContainers: spec.InitContainers, Containers: spec.Containers,
		ReadinessGates: spec.ReadinessGates, Resources: spec.Resources, NodeName: spec.NodeName,
	}
	share(&spec.NodeName)
	for i := range spec.InitContainers {
		trimContainer(&spec.InitContainers[i])
	}
	for i := range spec.Containers {
		trimContainer(&spec.Containers[i])
	}
}

// isNeeded reports whether a volume is a claim or exposes the termination reason.
func isNeeded(volume corev1.Volume) bool {
	return volume.PersistentVolumeClaim != nil || showsReason(&volume)
}

func trimContainer(container *corev1.Container) {
	*container = corev1.Container{
		Name: container.Name, Image: container.Image, ImagePullPolicy: container.ImagePullPolicy,
		Resources: container.Resources, ResizePolicy: container.ResizePolicy, RestartPolicy: container.RestartPolicy,
		Lifecycle: container.Lifecycle,
		Env:       only(container.Env, func(env corev1.EnvVar) bool { return env.ValueFrom != nil && env.ValueFrom.FieldRef != nil }),
	}
	share(&container.Name, &container.Image, (*string)(&container.ImagePullPolicy))
}

func trimStatus(status *corev1.PodStatus, gates []corev1.PodReadinessGate) {
	needed := func(c corev1.PodCondition) bool {
		isGate := func(gate corev1.PodReadinessGate) bool { return gate.ConditionType == c.Type }
		return slices.Contains(conditionsNeeded, c.Type) || slices.ContainsFunc(gates, isGate)
	}
	*status = corev1.PodStatus{
		ObservedGeneration: status.ObservedGeneration, Phase: status.Phase, StartTime: status.StartTime, ContainerStatuses: status.ContainerStatuses,
		Conditions: only(status.Conditions, needed),
	}
	share((*string)(&status.Phase))
	for i := range status.Conditions {
		share((*string)(&status.Conditions[i].Type), (*string)(&status.Conditions[i].Status))
	}
	for i := range status.ContainerStatuses {
		container := &status.ContainerStatuses[i]
		share(&container.Name, &container.Image, &container.ImageID)
	}
}

// conditionsNeeded are the pod conditions that decisions read, in addition to those of readiness gates.
var conditionsNeeded = []corev1.PodConditionType{corev1.PodReady, corev1.ContainersReady, api.InPlaceUpdateReady, corev1.PodResizePending, corev1.PodResizeInProgress}

// only returns the needed elements in a slice of minimal size.
func only[T any](all []T, needed func(T) bool) []T {
	var kept []T
	for _, each := range all {
		if needed(each) {
			kept = append(kept, each)
		}
	}
	return kept
}
