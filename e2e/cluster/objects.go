package cluster

import (
	"context"
	"fmt"
	"runtime"
	"strconv"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// storageClass is the name of the default StorageClass.
const storageClass = "standard"

// createObjects creates the nodes, the StorageClass and the policy of kwok. It retries failed requests: a new
// apiserver refuses writes for a moment.
func (c *Cluster) createObjects(ctx context.Context) error {
	version, err := c.client.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("cluster %s: ask for the version: %w", c.Name(), err)
	}
	for i := range c.options.Nodes {
		node := makeNode(i, version.GitVersion)
		err := c.poll(ctx, "node "+node.Name, func(ctx context.Context) error {
			_, err := c.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
			return ignoreAlreadyExists(err)
		})
		if err != nil {
			return err
		}
	}
	err = c.poll(ctx, "storage class "+storageClass, func(ctx context.Context) error {
		_, err := c.client.StorageV1().StorageClasses().Create(ctx, makeStorageClass(), metav1.CreateOptions{})
		return ignoreAlreadyExists(err)
	})
	if err != nil {
		return err
	}
	admission := c.client.AdmissionregistrationV1()
	return c.poll(ctx, "policy "+kubeletPolicy, func(ctx context.Context) error {
		if _, err := admission.ValidatingAdmissionPolicies().Create(ctx, makeKubeletPolicy(), metav1.CreateOptions{}); ignoreAlreadyExists(err) != nil {
			return err
		}
		_, err := admission.ValidatingAdmissionPolicyBindings().Create(ctx, makeKubeletPolicyBinding(), metav1.CreateOptions{})
		return ignoreAlreadyExists(err)
	})
}

// kubeletPolicy is the name of the policy that limits kwok to the deletes of a kubelet.
const kubeletPolicy = "kubelets-delete-only-terminating-pods"

// makeKubeletPolicy returns a policy that refuses kwok's delete of a pod without a deletion timestamp. A kubelet
// deletes with the UID of the pod as a precondition; kwok does not. With a stale cache it would delete the pod that a
// controller has created under the same name since.
func makeKubeletPolicy() *admissionregistrationv1.ValidatingAdmissionPolicy {
	return &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: kubeletPolicy},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Delete},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
				}}},
			},
			MatchConditions: []admissionregistrationv1.MatchCondition{{
				Name: "kwok", Expression: fmt.Sprintf("request.userInfo.username == %q", roleUser(Kwok)),
			}},
			Validations: []admissionregistrationv1.Validation{{
				Expression: "has(oldObject.metadata.deletionTimestamp)", Message: "nobody has deleted this pod",
			}},
		},
	}
}

func makeKubeletPolicyBinding() *admissionregistrationv1.ValidatingAdmissionPolicyBinding {
	return &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: kubeletPolicy},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        kubeletPolicy,
			ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
}

// ignoreAlreadyExists: the previous attempt succeeded, and its answer was lost.
func ignoreAlreadyExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// makeNode returns a node that always has room. Its kubelet, kwok, adds the conditions.
func makeNode(index int, version string) *corev1.Node {
	name := "node-" + strconv.Itoa(index)
	room := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("1000"),
		corev1.ResourceMemory:           resource.MustParse("10Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("10Ti"),
		corev1.ResourcePods:             resource.MustParse("100000"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				corev1.LabelHostname:   name,
				corev1.LabelOSStable:   "linux",
				corev1.LabelArchStable: runtime.GOARCH,
			},
		},
		Status: corev1.NodeStatus{
			Capacity:    room,
			Allocatable: room,
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("172.31.%d.%d", index/250, index%250+1)},
				{Type: corev1.NodeHostName, Address: name},
			},
			NodeInfo: corev1.NodeSystemInfo{
				Architecture: runtime.GOARCH, OperatingSystem: "linux", KubeletVersion: version,
			},
		},
	}
}

func makeStorageClass() *storagev1.StorageClass {
	return &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{
			Name:        storageClass,
			Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"},
		},
		Provisioner:       "kubernetes.io/host-path",
		ReclaimPolicy:     ptr.To(corev1.PersistentVolumeReclaimDelete),
		VolumeBindingMode: ptr.To(storagev1.VolumeBindingImmediate),
	}
}
