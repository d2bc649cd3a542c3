package move

import (
	"context"
	"errors"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy"
)

// definition is a minimal resource definition.
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

// defineWriters defines the kinds of KEDA and of the Vertical Pod Autoscaler in a cluster.
func defineWriters(at harness.Cluster) error {
	return errors.Join(define(definitionOf("keda.sh", "v1alpha1", "scaledobjects", "ScaledObject"))(at),
		define(definitionOf("autoscaling.k8s.io", "v1", "verticalpodautoscalers", "VerticalPodAutoscaler"))(at))
}

var installWriters = harness.OnceInBoth(defineWriters)

// Objects that scale or change the pods of the StatefulSet of that name.
const (
	scaledObject       = `{"apiVersion":"keda.sh/v1alpha1","kind":"ScaledObject","metadata":{"name":"writer"},"spec":{"scaleTargetRef":{"kind":"StatefulSet","name":"web"}}}`
	verticalAutoscaler = `{"apiVersion":"autoscaling.k8s.io/v1","kind":"VerticalPodAutoscaler","metadata":{"name":"writer"},"spec":{"targetRef":{"apiVersion":"apps/v1","kind":"StatefulSet","name":"web"},"updatePolicy":{"updateMode":"Recreate"}}}`
)

// writer creates such an object on one side once its kind is served. annotations are pairs of key and value.
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

// halfTheRights returns the flags of a user with only the cluster-scoped rights.
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

// asTheirAccount returns the flags for the ServiceAccount of the destination's pods.
func (v *move) asTheirAccount() []string {
	v.T.Helper()
	v.Must(harness.Install())
	v.Must(v.makeNamespace())
	v.Grant(v.Destination, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: v.ToNamespace, Name: "default"})
	path, err := v.To.UserKubeconfig("system:serviceaccount:" + v.ToNamespace + ":default")
	v.Must(err)
	return []string{"--to-kubeconfig", path}
}

// leavePod creates the pod that a former migration has left at the source for the claim of an ordinal.
func (v *move) leavePod(ordinal int32) {
	v.T.Helper()
	claim := volumes.Ref{Namespace: v.App.Namespace, Name: plan.ClaimName("data", v.App.Name, ordinal)}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: copy.PodName(volumes.RoleSender, claim, "former", 1), Labels: map[string]string{api.MigrationLabelKey: "former"},
	}}
	pod.Spec.Containers = []corev1.Container{{Name: "mover", Image: "mover"}}
	_, err := v.Source.CoreV1().Pods(v.App.Namespace).Create(v.Ctx, pod, metav1.CreateOptions{})
	v.Must(err)
}

// leaveService creates the Service that a former migration has left at the source for an ordinal.
func (v *move) leaveService(name string) {
	v.T.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{api.OwnerAnnotationKey: "former"}}}
	service.Spec.Ports = []corev1.ServicePort{{Port: 80}}
	_, err := v.Source.CoreV1().Services(v.App.Namespace).Create(v.Ctx, service, metav1.CreateOptions{})
	v.Must(err)
}

// csiClass creates a StorageClass of the volumes' driver at the destination; csiClassFlag selects it.
func (v *move) csiClass() { v.classOf(v.driver()) }

// classOf creates a StorageClass of the test at the destination; csiClassFlag selects it.
func (v *move) classOf(provisioner string) {
	v.T.Helper()
	_, err := v.Destination.StorageV1().StorageClasses().Create(v.Ctx, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "of-" + v.App.Namespace}, Provisioner: provisioner}, metav1.CreateOptions{})
	v.Must(err)
}

func (v *move) csiClassFlag() []string {
	return []string{"--storage-class", "data=of-" + v.App.Namespace}
}

// unattached registers the driver at the source as a driver without VolumeAttachments.
func (v *move) unattached() {
	v.T.Helper()
	no := false
	_, err := v.Source.StorageV1().CSIDrivers().Create(v.Ctx, &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: v.driver()}, Spec: storagev1.CSIDriverSpec{AttachRequired: &no}}, metav1.CreateOptions{})
	v.Must(err)
}

// claimsOnly registers a driver at the destination that does not support ephemeral volumes.
func (v *move) claimsOnly(driver string) {
	v.T.Helper()
	_, err := v.Destination.StorageV1().CSIDrivers().Create(v.Ctx, &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: driver}, Spec: storagev1.CSIDriverSpec{VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}},
	}, metav1.CreateOptions{})
	v.Must(err)
}

// otherConfigMap creates a ConfigMap of that name with other data at the destination.
func (v *move) otherConfigMap(name string) {
	v.T.Helper()
	v.Must(v.makeNamespace())
	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"colour": "blue"}}
	_, err := v.Destination.CoreV1().ConfigMaps(v.ToNamespace).Create(v.Ctx, other, metav1.CreateOptions{})
	v.Must(err)
}

// resizing sets a condition on the first claim, as during an expansion.
func (v *move) resizing() {
	v.T.Helper()
	patch := `{"status":{"conditions":[{"type":"FileSystemResizePending","status":"True"}]}}`
	_, err := v.Source.CoreV1().PersistentVolumeClaims(v.App.Namespace).Patch(v.Ctx, "data-web-0", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	v.Must(err)
}

// chooseNode gives the pods a node selector whose label exists only on the source's nodes.
func (v *move) chooseNode() {
	v.T.Helper()
	label := "only/" + v.App.Namespace
	everyNode(v, v.Source, fmt.Sprintf(`{"metadata":{"labels":{%q:"yes"}}}`, label))
	v.patchSource(fmt.Sprintf(`{"spec":{"template":{"spec":{"nodeSelector":{%q:"yes"}}}}}`, label))
	v.awaitObserved()
	v.Must(v.App.AwaitReady(v.Ctx, v.Source))
}

// oldKubelet adds a node to the destination while the test runs. Its kubelet is too old for the API server. No
// pod is scheduled to it.
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

// bindAccount binds a ClusterRole to the pods' account at the source.
func (v *move) bindAccount(role string) {
	v.T.Helper()
	name := role + "-" + v.App.Namespace
	_, err := v.Source.RbacV1().ClusterRoleBindings().Create(v.Ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: v.App.Namespace, Name: "default"}},
	}, metav1.CreateOptions{})
	v.Must(err)
	v.T.Cleanup(func() {
		_ = v.Source.RbacV1().ClusterRoleBindings().Delete(context.WithoutCancel(v.Ctx), name, metav1.DeleteOptions{})
	})
}

// bindElsewhere binds a Role in kube-system to the pods' account, at the source only.
func (v *move) bindElsewhere(role string) {
	v.T.Helper()
	bindings, name := v.Source.RbacV1().RoleBindings(metav1.NamespaceSystem), role+"-"+v.App.Namespace
	_, err := bindings.Create(v.Ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: v.App.Namespace, Name: "default"}},
	}, metav1.CreateOptions{})
	v.Must(err)
	v.T.Cleanup(func() { _ = bindings.Delete(context.WithoutCancel(v.Ctx), name, metav1.DeleteOptions{}) })
}

// hostFolder mounts a folder of the node into the pods.
func hostFolder(path string) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) {
		s.Volumes = append(s.Volumes, corev1.Volume{Name: "folder", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}}})
		s.Containers[0].VolumeMounts = append(s.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "folder", MountPath: "/folder"})
	}
}

// restartPods recreates the pods of the source and waits for them.
func (v *move) restartPods() {
	v.T.Helper()
	v.patchSource(`{"spec":{"template":{"metadata":{"annotations":{"restarted":"yes"}}}}}`)
	v.awaitObserved()
	v.Must(v.App.AwaitReady(v.Ctx, v.Source))
}

// addSidecar makes the source's API server add a container and a label to each pod of the namespace.
func (v *move) addSidecar() {
	v.T.Helper()
	mutation := func(expression string) admissionregistrationv1.Mutation {
		return admissionregistrationv1.Mutation{PatchType: admissionregistrationv1.PatchTypeJSONPatch, JSONPatch: &admissionregistrationv1.JSONPatch{Expression: expression}}
	}
	name := "sidecar-" + v.App.Namespace
	from, _ := v.clients()
	fail := admissionregistrationv1.Fail
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
		FailurePolicy: &fail, ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
		MatchConstraints: &admissionregistrationv1.MatchResources{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"mesh": v.App.Namespace}},
			ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}}},
		},
		Mutations: []admissionregistrationv1.Mutation{mutation(`[
			JSONPatch{op: 'add', path: '/spec/containers/-', value: Object.spec.containers{name: 'proxy', image: 'proxy:1'}},
			JSONPatch{op: 'add', path: '/metadata/labels/injected', value: 'yes'}]`)},
	}}
	binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name}}
	v.Must(errors.Join(from.Create(v.Ctx, policy), from.Create(v.Ctx, binding)))
	v.T.Cleanup(func() {
		ctx := context.WithoutCancel(v.Ctx)
		_ = errors.Join(from.Delete(ctx, binding), from.Delete(ctx, policy))
	})
	_, err := v.Source.CoreV1().Namespaces().Patch(v.Ctx, v.App.Namespace, types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"mesh":%q}}}`, v.App.Namespace), metav1.PatchOptions{})
	v.Must(err)
	v.Eventually("the sidecar is added", func(ctx context.Context) (bool, error) {
		probe := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: v.App.Namespace, Name: "probe", Labels: map[string]string{"a": "b"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}}
		err := from.Create(ctx, probe, client.DryRunAll)
		return len(probe.Spec.Containers) > 1, err
	})
	v.restartPods()
}

// ownScheduler selects another scheduler for the pods. That scheduler exists only at the source: the test binds
// the pods in its place.
func (v *move) ownScheduler() {
	v.T.Helper()
	v.patchSource(`{"spec":{"template":{"spec":{"schedulerName":"volcano"}}}}`)
	v.awaitObserved()
	v.Eventually("the pod waits for its scheduler", func(ctx context.Context) (bool, error) {
		pod, err := v.Source.CoreV1().Pods(v.App.Namespace).Get(ctx, "web-0", metav1.GetOptions{})
		if err != nil {
			return false, client.IgnoreNotFound(err)
		}
		if pod.Spec.SchedulerName != "volcano" || pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil {
			return pod.Spec.SchedulerName == "volcano" && pod.Spec.NodeName != "", nil
		}
		return false, v.Source.CoreV1().Pods(v.App.Namespace).Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}, Target: corev1.ObjectReference{Kind: "Node", Name: "node-0"}}, metav1.CreateOptions{})
	})
	v.Must(v.App.AwaitReady(v.Ctx, v.Source))
}
