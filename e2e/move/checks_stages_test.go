package move

import (
	"context"
	"errors"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// definition is the least that a cluster serves a kind by.
const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: %[3]s.%[1]s
  annotations: {api-approved.kubernetes.io: "unapproved, for tests"}
spec:
  group: %[1]s
  scope: Namespaced
  names: {kind: %[4]s, plural: %[3]s, singular: %[5]s, listKind: %[4]sList}
  versions:
  - name: %[2]s
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

func definitionOf(group, version, plural, kind string) []byte {
	return fmt.Appendf(nil, definition, group, version, plural, kind, strings.ToLower(kind))
}

// defineWriters lets a cluster serve the kinds of KEDA and of the Vertical Pod Autoscaler.
func defineWriters(at harness.Cluster) error {
	return errors.Join(define(definitionOf("keda.sh", "v1alpha1", "scaledobjects", "ScaledObject"))(at),
		define(definitionOf("autoscaling.k8s.io", "v1", "verticalpodautoscalers", "VerticalPodAutoscaler"))(at))
}

var installWriters = harness.OnceInBoth(defineWriters)

// Objects that scale or change the pods of a StatefulSet of that name.
const (
	scaledObject       = `{"apiVersion":"keda.sh/v1alpha1","kind":"ScaledObject","metadata":{"name":"writer"},"spec":{"scaleTargetRef":{"kind":"StatefulSet","name":"web"}}}`
	verticalAutoscaler = `{"apiVersion":"autoscaling.k8s.io/v1","kind":"VerticalPodAutoscaler","metadata":{"name":"writer"},"spec":{"targetRef":{"apiVersion":"apps/v1","kind":"StatefulSet","name":"web"},"updatePolicy":{"updateMode":"Recreate"}}}`
)

// writer makes such an object at one end, with annotations in pairs, once its kind is served there.
func (v *move) writer(at harness.Endpoint, text string, annotations ...string) {
	v.T.Helper()
	v.Must(installWriters())
	object := &unstructured.Unstructured{}
	v.Must(object.UnmarshalJSON([]byte(text)))
	object.SetNamespace(at.Namespace)
	marks := map[string]string{}
	for i := 0; i+1 < len(annotations); i += 2 {
		marks[annotations[i]] = annotations[i+1]
	}
	object.SetAnnotations(marks)
	from, to := v.clients()
	c := map[bool]client.Client{true: from, false: to}[at == v.Here()]
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(object.GroupVersionKind())
	list.SetKind(object.GetKind() + "List")
	v.Must(fixture.AwaitServed(v.Ctx, c, list))
	v.Must(c.Create(v.Ctx, object))
}

// halfTheRights are the flags of a user who has the half of the rights that is not namespaced.
func (v *move) halfTheRights() []string {
	v.T.Helper()
	v.Must(harness.Install())
	user := rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: "half-" + v.App.Namespace}
	_, err := v.Destination.RbacV1().ClusterRoleBindings().Create(v.Ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user.Name}, Subjects: []rbacv1.Subject{user},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: fixture.MoverRoles[1]},
	}, metav1.CreateOptions{})
	v.Must(err)
	v.Must(fixture.AwaitRight(v.Ctx, v.Destination, user, authorizationv1.ResourceAttributes{Verb: "patch", Resource: "persistentvolumes"}))
	path, err := v.To.UserKubeconfig(user.Name)
	v.Must(err)
	return []string{"--to-kubeconfig", path}
}

// asTheirAccount are the flags of the ServiceAccount at the destination that the pods run under there.
func (v *move) asTheirAccount() []string {
	v.T.Helper()
	v.Must(harness.Install())
	v.Must(v.makeNamespace())
	v.Grant(v.Destination, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: v.ToNamespace, Name: "default"})
	path, err := v.To.UserKubeconfig("system:serviceaccount:" + v.ToNamespace + ":default")
	v.Must(err)
	return []string{"--to-kubeconfig", path}
}

// csiClass makes a storage class of the volumes' driver at the destination; csiClassFlag asks for it.
func (v *move) csiClass() { v.classOf(v.driver()) }

// classOf makes a class of the test's own at the destination, which csiClassFlag names.
func (v *move) classOf(provisioner string) {
	v.T.Helper()
	_, err := v.Destination.StorageV1().StorageClasses().Create(v.Ctx, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "of-" + v.App.Namespace}, Provisioner: provisioner}, metav1.CreateOptions{})
	v.Must(err)
}

func (v *move) csiClassFlag() []string {
	return []string{"--storage-class", "data=of-" + v.App.Namespace}
}

// unattached registers the driver at the source, as one without VolumeAttachments.
func (v *move) unattached() {
	v.T.Helper()
	no := false
	_, err := v.Source.StorageV1().CSIDrivers().Create(v.Ctx, &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: v.driver()}, Spec: storagev1.CSIDriverSpec{AttachRequired: &no}}, metav1.CreateOptions{})
	v.Must(err)
}

// claimsOnly registers a driver at the destination that makes no volumes of single pods.
func (v *move) claimsOnly(driver string) {
	v.T.Helper()
	_, err := v.Destination.StorageV1().CSIDrivers().Create(v.Ctx, &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: driver}, Spec: storagev1.CSIDriverSpec{VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}},
	}, metav1.CreateOptions{})
	v.Must(err)
}

// otherConfigMap is one of that name at the destination, which says something else.
func (v *move) otherConfigMap(name string) {
	v.T.Helper()
	v.Must(v.makeNamespace())
	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"colour": "blue"}}
	_, err := v.Destination.CoreV1().ConfigMaps(v.ToNamespace).Create(v.Ctx, other, metav1.CreateOptions{})
	v.Must(err)
}

// resizing says of the first claim that it is being made larger.
func (v *move) resizing() {
	v.T.Helper()
	patch := `{"status":{"conditions":[{"type":"FileSystemResizePending","status":"True"}]}}`
	_, err := v.Source.CoreV1().PersistentVolumeClaims(v.App.Namespace).Patch(v.Ctx, "data-web-0", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	v.Must(err)
}

// chooseNode has the pods run on nodes with a label that only the source's have.
func (v *move) chooseNode() {
	v.T.Helper()
	label := "only/" + v.App.Namespace
	everyNode(v, v.Source, fmt.Sprintf(`{"metadata":{"labels":{%q:"yes"}}}`, label))
	v.patchSource(fmt.Sprintf(`{"spec":{"template":{"spec":{"nodeSelector":{%q:"yes"}}}}}`, label))
	v.awaitObserved()
	v.Must(v.App.AwaitReady(v.Ctx, v.Source))
}

// oldKubelet adds a node to the destination whose kubelet its API server is not made for, as long as the
// test runs. Nothing is scheduled to it.
func (v *move) oldKubelet() {
	v.T.Helper()
	nodes := v.Destination.CoreV1().Nodes()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "old"}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "old", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{
			NodeInfo:   corev1.NodeSystemInfo{KubeletVersion: "v1.20.0"},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
	_, err := nodes.Create(v.Ctx, node, metav1.CreateOptions{})
	v.Must(err)
	v.T.Cleanup(func() { v.Must(nodes.Delete(context.Background(), "old", metav1.DeleteOptions{})) })
}

// taintAll keeps pods off every node of the destination.
func (v *move) taintAll() {
	v.T.Helper()
	everyNode(v, v.Destination, `{"spec":{"taints":[{"key":"dedicated","value":"batch","effect":"NoSchedule"}]}}`)
}

func everyNode(v *move, at kubernetes.Interface, patch string) {
	v.T.Helper()
	nodes, err := at.CoreV1().Nodes().List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	for i := range nodes.Items {
		_, err := at.CoreV1().Nodes().Patch(v.Ctx, nodes.Items[i].Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		v.Must(err)
	}
}
