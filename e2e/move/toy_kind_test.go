package move

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/workload"
)

var toyVersion = schema.GroupVersion{Group: "toys.example.com", Version: "v1"}

// toySet is a StatefulSet of another group with its own controller.
type toySet struct{ appsv1.StatefulSet }

func (s *toySet) DeepCopyObject() runtime.Object { return &toySet{*s.DeepCopy()} }

type toySetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []toySet `json:"items"`
}

func (l *toySetList) DeepCopyObject() runtime.Object {
	list := &toySetList{TypeMeta: l.TypeMeta, ListMeta: *l.DeepCopy()}
	for i := range l.Items {
		list.Items = append(list.Items, *l.Items[i].DeepCopyObject().(*toySet))
	}
	return list
}

// toyKind describes this kind for migrations.
type toyKind struct{ workload.Native }

func (toyKind) APIVersion() string { return toyVersion.String() }
func (toyKind) Resource() string   { return "statefulsets." + toyVersion.Group }
func (toyKind) KeepsStart() bool   { return true }

func (toyKind) New(meta metav1.ObjectMeta) client.Object {
	return &toySet{appsv1.StatefulSet{ObjectMeta: meta}}
}

func (toyKind) AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypeWithName(toyVersion.WithKind("StatefulSet"), &toySet{})
	scheme.AddKnownTypeWithName(toyVersion.WithKind("StatefulSetList"), &toySetList{})
	metav1.AddToGroupVersion(scheme, toyVersion)
	return nil
}

func init() { workload.Register(toyKind{}) } //nolint:gochecknoinits // as a program that adds a kind does it

// TestToyKind: a kind of StatefulSet is one file. Real API servers move its sets from the kind of apps/v1 and
// back to it.
func TestToyKind(t *testing.T) {
	t.Parallel()
	at, err := harness.Client(harness.West())
	if err != nil {
		t.Fatal(err)
	}
	if err := serveToys(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	v := newMove(t, fixture.App{Replicas: 2, Claims: []string{"data"}}, harness.AcrossClusters, harness.WithSpec(func(s *api.MigrationSpec) {
		s.Destination.APIVersion = toyVersion.String()
	}))
	go wait.UntilWithContext(v.Ctx, func(ctx context.Context) {
		toyPass(ctx, at, client.ObjectKey{Namespace: v.ToNamespace, Name: v.ToName})
	}, 50*time.Millisecond)
	mover := v.Mover()
	v.Drive(mover, harness.Arrival(0)(func() error { return mover.Store.SetMode(v.Ctx, api.ModeRollback) }))
	v.ExpectBack()
	v.Must(mover.Store.SetMode(v.Ctx, api.ModeRun))
	v.Drive(mover)
	made := &toySet{}
	v.Must(at.Get(v.Ctx, client.ObjectKey{Namespace: v.ToNamespace, Name: v.ToName}, made))
	if *made.Spec.Replicas != 2 || made.Status.ReadyReplicas != 2 {
		t.Errorf("at the destination: %d replicas, %d of them ready", *made.Spec.Replicas, made.Status.ReadyReplicas)
	}
	v.ExpectVolumes(v.There(), 2)
	v.Audit()
}

// serveToys defines the kind in an API server.
func serveToys(ctx context.Context, at client.Client) error {
	whatever := &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "statefulsets." + toyVersion.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: toyVersion.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "statefulsets", Singular: "statefulset", Kind: "StatefulSet", ListKind: "StatefulSetList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: toyVersion.Version, Served: true, Storage: true,
				Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: whatever},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
	if err := at.Create(ctx, crd); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		return at.List(ctx, &toySetList{}) == nil, nil
	})
}

// toyPass runs one pass of the toy's controller. It creates and deletes pods and sets the status; it ignores
// claims. The next pass retries errors.
func toyPass(ctx context.Context, at client.Client, key client.ObjectKey) {
	set, pods := &toySet{}, &corev1.PodList{}
	if at.Get(ctx, key, set) != nil || at.List(ctx, pods, client.InNamespace(key.Namespace), client.MatchingLabels(set.Spec.Selector.MatchLabels)) != nil {
		return
	}
	first, have := set.Spec.Ordinals.Start, map[string]bool{}
	ready := int32(0)
	for i := range pods.Items {
		pod := &pods.Items[i]
		have[pod.Name] = true
		var ordinal int32
		_, _ = fmt.Sscanf(strings.TrimPrefix(pod.Name, set.Name+"-"), "%d", &ordinal)
		if (ordinal < first || ordinal >= first+*set.Spec.Replicas) && pod.DeletionTimestamp == nil {
			_ = at.Delete(ctx, pod)
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				ready++
			}
		}
	}
	for ordinal := first; ordinal < first+*set.Spec.Replicas; ordinal++ {
		if name := fmt.Sprintf("%s-%d", set.Name, ordinal); !have[name] {
			_ = at.Create(ctx, toyPod(set, name))
		}
	}
	status := set.Status
	status.ObservedGeneration, status.Replicas, status.ReadyReplicas = set.Generation, int32(len(pods.Items)), ready
	status.CurrentRevision, status.UpdateRevision = "1", "1"
	if status.String() != set.Status.String() {
		set.Status = status
		_ = at.Status().Update(ctx, set)
	}
}

func toyPod(set *toySet, name string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: *set.Spec.Template.ObjectMeta.DeepCopy(), Spec: *set.Spec.Template.Spec.DeepCopy()}
	pod.Namespace, pod.Name = set.Namespace, name
	metav1.SetMetaDataLabel(&pod.ObjectMeta, appsv1.ControllerRevisionHashLabelKey, "1")
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, toyVersion.WithKind("StatefulSet"))}
	for _, template := range set.Spec.VolumeClaimTemplates {
		source := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: template.Name + "-" + name}}
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: template.Name, VolumeSource: source})
	}
	return pod
}
