package environment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// tokenVolume is the prefix of the volume with which each cluster gives pods a token of their account (kubernetes
// plugin/pkg/admission/serviceaccount).
const tokenVolume = "kube-api-access-"

// placed is the prefix of the labels that a pod gets from its node (kubernetes
// plugin/pkg/admission/podtopologylabels).
const placed = "topology.kubernetes.io/"

// Lacks returns what a running pod has and the other pod, as an API server would store it, lacks. A webhook or
// another admission plugin adds it in one cluster only.
func Lacks(running, other *corev1.Pod) []string {
	var lacks []string
	for _, kind := range []struct {
		word        string
		here, there []corev1.Container
	}{
		{"init container", running.Spec.InitContainers, other.Spec.InitContainers},
		{"container", running.Spec.Containers, other.Spec.Containers},
	} {
		for i := range kind.here {
			lacks = append(lacks, lacksOf(kind.word, &kind.here[i], kind.there)...)
		}
	}
	volumes := map[string]bool{}
	for _, v := range other.Spec.Volumes {
		volumes[v.Name] = true
	}
	for _, v := range running.Spec.Volumes {
		if !volumes[v.Name] && !strings.HasPrefix(v.Name, tokenVolume) {
			lacks = append(lacks, "volume "+v.Name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(running.Labels)) {
		if _, has := other.Labels[key]; !has && !strings.HasPrefix(key, placed) && bornWith(running, key) && !ofController(key) {
			lacks = append(lacks, "label "+key)
		}
	}
	return lacks
}

// lacksOf returns what a container has and the container of the same name lacks.
func lacksOf(word string, c *corev1.Container, others []corev1.Container) []string {
	at := slices.IndexFunc(others, func(other corev1.Container) bool { return other.Name == c.Name })
	if at < 0 {
		return []string{fmt.Sprintf("%s %s", word, c.Name)}
	}
	var lacks []string
	for _, env := range c.Env {
		if !slices.ContainsFunc(others[at].Env, func(other corev1.EnvVar) bool { return other.Name == env.Name }) {
			lacks = append(lacks, fmt.Sprintf("env %s of %s %s", env.Name, word, c.Name))
		}
	}
	for _, mount := range c.VolumeMounts {
		same := func(other corev1.VolumeMount) bool { return other.MountPath == mount.MountPath }
		if !strings.HasPrefix(mount.Name, tokenVolume) && !slices.ContainsFunc(others[at].VolumeMounts, same) {
			lacks = append(lacks, fmt.Sprintf("mount %s of %s %s", mount.MountPath, word, c.Name))
		}
	}
	return lacks
}

func ofController(label string) bool {
	return slices.Contains([]string{appsv1.StatefulSetPodNameLabel, appsv1.PodIndexLabel, appsv1.ControllerRevisionHashLabelKey}, label)
}

// bornWith reports whether a pod was created with a label. The creator's managed fields contain additions by
// admission, but not labels that the application sets later, such as the role of a member.
func bornWith(pod *corev1.Pod, label string) bool {
	known := false
	for _, entry := range pod.ManagedFields {
		if entry.FieldsV1 == nil || entry.Operation != metav1.ManagedFieldsOperationUpdate || entry.Subresource != "" {
			continue
		}
		raw := entry.FieldsV1.GetRawBytes()
		if !bytes.Contains(raw, []byte(`"f:containers"`)) {
			continue
		}
		known = true
		var fields struct {
			Metadata struct {
				Labels map[string]any `json:"f:labels"`
			} `json:"f:metadata"`
		}
		if json.Unmarshal(raw, &fields) == nil && fields.Metadata.Labels["f:"+label] != nil {
			return true
		}
	}
	return !known
}

// Otherwise warns that the moved pods would differ from the running pods. asked is false if the destination's
// namespace does not exist yet, so that no dry run was possible. The warning then lists what the running pod has
// beyond its template.
func Otherwise(sides *endpoint.Pair, running, other *corev1.Pod, asked bool) []plan.Finding {
	lacks := Lacks(running, other)
	if len(lacks) == 0 {
		return nil
	}
	object, at := fmt.Sprintf("pod %s/%s in cluster %s", running.Namespace, running.Name, sides.Source.Cluster), sides.Destination
	finding := plan.Finding{
		Reason: api.ReasonPodDiffers, Object: object, Warning: true,
		Message: fmt.Sprintf("%s has fields that cluster %s would not add to the moved pod: %s; a webhook or another plugin in cluster %s has added them at its creation", object, at.Cluster, plan.Listed(lacks), sides.Source.Cluster),
		Remedy: fmt.Sprintf("find the plugin, and the namespace labels that it selects: %s; install it at the destination before the move, with the same labels on namespace %s",
			sides.Source.Kubectl().Do("get", "namespace", running.Namespace, "--show-labels"), at.Namespace),
	}
	if !asked {
		finding.Message = fmt.Sprintf("%s runs with what its template does not have: %s; whether cluster %s would add it cannot be asked while it has no namespace %s, and one that the migration makes has no labels", object, plan.Listed(lacks), at.Cluster, at.Namespace)
		finding.Remedy = fmt.Sprintf("create namespace %s there before the move, with the labels that it has at the source: %s; then look again", at.Namespace,
			sides.Source.Kubectl().Do("get", "namespace", running.Namespace, "--show-labels"))
	}
	return []plan.Finding{finding}
}
