package application

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// leaves matches commands that remove a member from its application permanently: nodetool decommission, etcdctl
// member remove, rabbitmqctl forget_cluster_node, rs.remove of MongoDB, CLUSTER FORGET of Redis, consul leave, and
// paths like /deregister. Commands that drain or step down do not match.
var leaves = regexp.MustCompile(`(?i)decommission|member[\s_-]+remove|remove[\s_-]?(member|node|peer|server|broker)|forget[\s_-]?(cluster[\s_-]?)?node|cluster\s+forget|\brs\.remove\b|\b(de|un)[\s_-]?register|\bleave\b`)

// Hooks warns of a preStop hook that may remove its pod's member from the application. It runs whenever an ordinal is
// stopped for the move, and the ordinal returns with its data and its name. object names the StatefulSet; scripts are
// the texts of the ConfigMaps that the template references.
func Hooks(object string, spec corev1.PodSpec, scripts []Text) []plan.Finding {
	var found []plan.Finding
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		if container.Lifecycle == nil || container.Lifecycle.PreStop == nil {
			continue
		}
		word, where := leaving(*container.Lifecycle.PreStop, scripts)
		if word == "" {
			continue
		}
		found = append(found, plan.Finding{
			Reason: api.ReasonHookMayDecommission, Object: object, Warning: true,
			Message: fmt.Sprintf("the preStop hook of container %s of %s contains %q (%s): it runs when a handoff stops an ordinal, and a member that leaves its cluster permanently is resynchronised or rejected when it returns", container.Name, object, word, where),
			Remedy:  "make the hook only step down, or distinguish a move from a scale-down; change the template before the move, because the change recreates the pods",
		})
	}
	return found
}

// leaving returns the command of a hook with which a member leaves, and its location.
func leaving(hook corev1.LifecycleHandler, scripts []Text) (word, where string) {
	said := ""
	switch {
	case hook.Exec != nil:
		said = strings.Join(hook.Exec.Command, " ")
	case hook.HTTPGet != nil:
		said = hook.HTTPGet.Path
	}
	if word = leaves.FindString(said); word != "" {
		return word, "in its command"
	}
	for _, script := range scripts {
		if name := path.Base(script.Key); strings.Contains(said, name) {
			if word = leaves.FindString(script.Text); word != "" {
				return word, fmt.Sprintf("in %s of ConfigMap %s", script.Key, script.ConfigMap)
			}
		}
	}
	return "", ""
}
