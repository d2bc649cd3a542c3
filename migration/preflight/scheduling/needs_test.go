package scheduling

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// TestP11NodesByOtherFields: node name, host ports, operating system and architecture of the pods are checked against
// the nodes.
func TestP11NodesByOtherFields(t *testing.T) {
	node := func(name string, labels map[string]string) corev1.Node {
		return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	}
	amd, arm := map[string]string{corev1.LabelArchStable: "amd64"}, map[string]string{corev1.LabelArchStable: "arm64"}
	two := []corev1.Node{node("a", amd), node("b", amd)}
	port := []corev1.Container{{Ports: []corev1.ContainerPort{{ContainerPort: 80}, {ContainerPort: 81, HostPort: 9100}}}}
	for name, tc := range map[string]struct {
		spec  corev1.PodSpec
		nodes []corev1.Node
		says  string
	}{
		"nothing":             {corev1.PodSpec{}, two, ""},
		"a node":              {corev1.PodSpec{NodeName: "b"}, two, ""},
		"a node of east":      {corev1.PodSpec{NodeName: "c"}, two, "none is called c"},
		"another system":      {corev1.PodSpec{OS: &corev1.PodOS{Name: corev1.Windows}}, []corev1.Node{node("a", map[string]string{corev1.LabelOSStable: "linux"})}, "operating system windows"},
		"ports of two":        {corev1.PodSpec{Containers: port}, two, ""},
		"ports of more":       {corev1.PodSpec{Containers: port}, two[:1], "uses host port 9100, and 1 nodes"},
		"ports where none is": {corev1.PodSpec{Containers: port}, nil, ""},
	} {
		_, found := Fit(Demand{Object: "StatefulSet shop/web", Cluster: "west", Pods: 2, Template: corev1.PodTemplateSpec{Spec: tc.spec}}, tc.nodes)
		if tc.says == "" && len(found) > 0 || tc.says != "" && (len(found) != 1 || found[0].Warning || found[0].Reason != api.ReasonNoNodeFits || !strings.Contains(found[0].Message, tc.says)) {
			t.Errorf("%s: %+v", name, found)
		}
	}
	d := Demand{Object: "StatefulSet shop/web", Cluster: "west"}
	if found := Machines(d, two, []corev1.Node{node("x", arm)}); len(found) != 1 || !found[0].Warning || !strings.Contains(found[0].Message, "are of architecture arm64, and its own cluster has amd64") {
		t.Errorf("another architecture: %+v", found)
	}
	for name, nodes := range map[string][]corev1.Node{"one of two": {node("x", arm), node("y", amd)}, "none says": {node("x", nil)}, "none": nil} {
		if found := Machines(d, two, nodes); len(found) > 0 {
			t.Errorf("%s: %+v", name, found)
		}
	}
}
