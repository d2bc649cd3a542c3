package evacuate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/evacuate"
)

// textsOf returns the configuration of pods: the environment and the arguments of their containers, and the ConfigMaps that
// they name. Secrets are not read.
func textsOf(namespace string, spec corev1.PodSpec, claimTemplates []string, configMaps map[evacuate.Name]*corev1.ConfigMap) []evacuate.Text {
	var texts []evacuate.Text
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, env := range container.Env {
			texts = append(texts, evacuate.Text{Where: fmt.Sprintf("env %s of container %s", env.Name, container.Name), Key: strings.ToLower(env.Name), Value: env.Value})
		}
		for _, arg := range slices.Concat(container.Command, container.Args) {
			texts = append(texts, evacuate.Text{Where: "an argument of container " + container.Name, Value: arg})
		}
	}
	for _, ref := range dependencies.Walk(spec, claimTemplates) {
		object := configMaps[evacuate.Name{Namespace: namespace, Name: ref.Name}]
		if ref.Kind != dependencies.ConfigMap || object == nil {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(object.Data)) {
			text := evacuate.Text{Where: fmt.Sprintf("key %s of ConfigMap %s", key, ref.Name), Value: object.Data[key]}
			if !strings.Contains(text.Value, "\n") { // the key of a file is no name of a setting
				text.Key = key
			}
			texts = append(texts, text)
		}
	}
	return texts
}
