package duel

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/cluster"
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

// deletesClaims reports whether the claims of pods that are scaled away are deleted with them.
func (w *wish) deletesClaims() bool {
	policy := w.PersistentVolumeClaimRetentionPolicy
	return policy != nil && policy.WhenScaled == appsv1.DeletePersistentVolumeClaimRetentionPolicyType
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

// Script is a sequence of steps for both sides.
type Script struct {
	// Name is a DNS label; the name of a drawn script is its seed.
	Name     string
	Settings Settings
	Steps    []Step
}

// Settings are constant during a script.
type Settings struct {
	Parallel bool
	// Claims is the number of claim templates.
	Claims int
	// Replicas and Start are the initial values.
	Replicas, Start int32
	// Rushed is true if a step does not wait until the previous one has settled.
	Rushed bool
}

// Step is one edit or fault. The meaning of A and B depends on the kind.
type Step struct {
	Kind string
	A, B int32
	// Pause is the time after the step in a rushed script.
	Pause time.Duration
}

func (s Step) String() string { return fmt.Sprintf("%s %d %d", s.Kind, s.A, s.B) }

// String formats the whole script.
func (s Script) String() string {
	lines := []string{fmt.Sprintf("script %s: %+v", s.Name, s.Settings)}
	for i, step := range s.Steps {
		lines = append(lines, fmt.Sprintf("%2d %s", i+1, step))
	}
	return strings.Join(lines, "\n")
}

// Draw draws the script of a seed.
func Draw(seed int) Script {
	r := rand.New(rand.NewPCG(uint64(seed), 0))
	script := Script{
		Name: strconv.Itoa(seed),
		Settings: Settings{
			Parallel: r.IntN(2) == 0, Claims: []int{0, 0, 1, 1, 2}[r.IntN(5)],
			Replicas: r.Int32N(maxReplicas + 1), Start: []int32{0, 0, 0, 1, 5}[r.IntN(5)],
			Rushed: r.IntN(4) == 0,
		},
	}
	for range minSteps + r.IntN(maxSteps-minSteps+1) {
		script.Steps = append(script.Steps, Step{
			Kind: kinds[r.IntN(len(kinds))], A: r.Int32N(maxReplicas + 1), B: r.Int32N(maxReplicas),
			Pause: time.Duration(r.IntN(900)) * time.Millisecond,
		})
	}
	return script
}

const (
	minSteps, maxSteps = 5, 14
	maxReplicas        = 6
)

// kinds lists each kind as often as its weight: edits of the template are the most frequent.
var kinds = []string{
	stepImage, stepImage, stepImage, stepImage, stepBroken, stepBroken, stepSlow, stepBack, stepThereAndBack, stepAnnotate,
	stepReplicas, stepReplicas, stepReplicas, stepStart, stepStart, stepRange, stepPartition, stepPartition, stepMaxUnavailable, stepMaxUnavailable,
	stepStrategy, stepMinReady, stepRetention, stepRetention, stepHistory,
	stepDelete, stepDelete, stepDeleteHeld, stepLetGo, stepFail, stepFail, stepSucceed, stepUnready, stepReady, stepReady,
	stepRelease, stepOrphan, stepUnname, stepStray,
	stepClaimDelete, stepClaimAndPod, stepClaimGone, stepUnbound, stepBound,
	stepRefusePods, stepRefuseClaims, stepRefuseDeletions, stepAllow, stepAllow,
}

// Kinds of steps: edits of the set.
const (
	stepImage          = "image"
	stepBroken         = "image that never gets Ready"
	stepSlow           = "image that gets Ready late"
	stepBack           = "template of before"
	stepThereAndBack   = "another image and back"
	stepAnnotate       = "annotation of the template"
	stepReplicas       = "replicas"
	stepStart          = "ordinals.start"
	stepRange          = "replicas and ordinals.start"
	stepPartition      = "partition"
	stepMaxUnavailable = "maxUnavailable"
	stepStrategy       = "strategy"
	stepMinReady       = "minReadySeconds"
	stepRetention      = "retention policy"
	stepHistory        = "revisionHistoryLimit"
)

// Kinds of steps: faults of pods.
const (
	stepDelete     = "a pod is deleted"
	stepDeleteHeld = "a pod is deleted, and a finalizer holds it"
	stepLetGo      = "finalizers let pods go"
	stepFail       = "a pod fails"
	stepSucceed    = "a pod succeeds"
	stepUnready    = "a pod gets unready"
	stepReady      = "pods get Ready again"
	stepRelease    = "a pod loses the label of the selector, or gets it again"
	stepOrphan     = "a pod loses its owner"
	stepUnname     = "a pod loses the label of its name"
	stepStray      = "another client creates a pod with the set's labels"
)

// Kinds of steps: faults of claims, and of the API server.
const (
	stepClaimDelete     = "a claim is deleted"
	stepClaimAndPod     = "a claim and its pod are deleted"
	stepClaimGone       = "a claim is removed by force"
	stepUnbound         = "claims stay unbound"
	stepBound           = "claims are bound"
	stepRefusePods      = "pods are refused"
	stepRefuseClaims    = "claims are refused"
	stepRefuseDeletions = "deletions of pods are refused"
	stepAllow           = "nothing is refused"
)

// staged are the first scripts of every run. Each meets one of the intended differences, so that every explanation is
// used.
var staged = []Script{
	{Name: "broken", Settings: Settings{Replicas: 3}, Steps: []Step{{Kind: stepBroken}, {Kind: stepImage}}},
	{Name: "ends-twice", Settings: Settings{Replicas: 2, Parallel: true}, Steps: []Step{{Kind: stepFail}, {Kind: stepFail}, {Kind: stepSucceed, A: 1}}},
	{Name: "unbound", Settings: Settings{Replicas: 3, Claims: 1}, Steps: []Step{
		{Kind: stepUnbound}, {Kind: stepReplicas, A: 5}, {Kind: stepImage}, {Kind: stepBound},
	}},
	{Name: "percent", Settings: Settings{Replicas: 6}, Steps: []Step{{Kind: stepMaxUnavailable, A: 1}, {Kind: stepImage}}},
	{Name: "percent-broken", Settings: Settings{Replicas: 6, Parallel: true}, Steps: []Step{{Kind: stepMaxUnavailable, A: 1}, {Kind: stepBroken}, {Kind: stepImage}}},
	{Name: "lose-ready", Settings: Settings{Replicas: 4, Parallel: true}, Steps: []Step{
		{Kind: stepUnready}, {Kind: stepUnready, A: 1}, {Kind: stepImage}, {Kind: stepReady},
	}},
	{Name: "batch", Settings: Settings{Replicas: 4}, Steps: []Step{
		{Kind: stepMaxUnavailable, A: 1, B: 3}, {Kind: stepDeleteHeld, A: 1}, {Kind: stepImage}, {Kind: stepLetGo},
	}},
	{Name: "ended", Settings: Settings{Replicas: 4}, Steps: []Step{{Kind: stepUnready}, {Kind: stepFail, A: 2}, {Kind: stepReady}}},
	{Name: "repairs", Settings: Settings{Replicas: 4, Claims: 1}, Steps: []Step{
		{Kind: stepUnready}, {Kind: stepUnname, A: 2}, {Kind: stepRetention, A: 1, B: 1}, {Kind: stepReady}, {Kind: stepReplicas, A: 2},
	}},
	{Name: "leaves", Settings: Settings{Replicas: 4}, Steps: []Step{
		{Kind: stepUnready, A: 2}, {Kind: stepUnready, A: 3}, {Kind: stepStrategy}, {Kind: stepImage}, {Kind: stepReplicas, A: 2}, {Kind: stepReady},
	}},
	{Name: "refused", Settings: Settings{Replicas: 5, Parallel: true}, Steps: []Step{
		{Kind: stepMaxUnavailable, A: 1, B: 3}, {Kind: stepRefusePods}, {Kind: stepDelete}, {Kind: stepImage}, {Kind: stepAllow},
	}},
	{Name: "name-taken", Settings: Settings{Replicas: 3, Parallel: true}, Steps: []Step{{Kind: stepRelease}, {Kind: stepUnname, A: 1}}},
	{Name: "on-delete", Settings: Settings{Replicas: 2}, Steps: []Step{
		{Kind: stepStrategy}, {Kind: stepImage}, {Kind: stepDelete}, {Kind: stepDelete, A: 1}, {Kind: stepImage}, {Kind: stepStrategy, A: 1},
	}},
	{Name: "terminating-claims", Settings: Settings{Replicas: 3, Claims: 1, Parallel: true}, Steps: []Step{
		{Kind: stepRetention, A: 1}, {Kind: stepDeleteHeld, A: 2}, {Kind: stepReplicas, A: 2}, {Kind: stepLetGo},
	}},
	{Name: "claim-gone", Settings: Settings{Replicas: 2, Claims: 2}, Steps: []Step{{Kind: stepClaimGone, A: 1}, {Kind: stepDelete, A: 1}}},
}
