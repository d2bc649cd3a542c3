package environment

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// safe lists the sysctls that every kubelet allows (kubernetes pkg/kubelet/sysctl/safe_sysctls.go).
var safe = []string{
	"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start",
	"net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes",
	"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem",
}

// ofNode describes, for each field, what it needs of a node; empty if every cluster provides it.
var ofNode = map[string]func(text string) string{
	"SeccompProfile.localhostProfile":  func(text string) string { return "the file of seccomp profile " + text + " on the node" },
	"AppArmorProfile.localhostProfile": func(text string) string { return "AppArmor profile " + text + ", loaded on the node" },
	"Sysctl.name": func(text string) string {
		if slices.Contains(safe, text) {
			return ""
		}
		return "a kubelet that allows sysctl " + text + " (allowedUnsafeSysctls)"
	},
	"ClusterTrustBundleProjection.signerName": ofSigner,
	"PodCertificateProjection.signerName":     ofSigner,
}

func ofSigner(signer string) string {
	if strings.HasPrefix(signer, "kubernetes.io/") {
		return ""
	}
	return "signer " + signer
}

// NodeSetup warns of node configuration that the pods need, that an administrator must provide, and that no API
// shows.
func NodeSetup(sides *endpoint.Pair, spec corev1.PodSpec) []plan.Finding {
	if sides.SameCluster() {
		return nil
	}
	var needs []string
	for _, v := range dependencies.Values(spec, nil) {
		if says := ofNode[v.Field]; says != nil && says(v.Text) != "" {
			needs = append(needs, fmt.Sprintf("%s (%s)", says(v.Text), v.From))
		}
	}
	if len(needs) == 0 {
		return nil
	}
	object := sides.Source.Object()
	return []plan.Finding{{
		Reason: api.ReasonNodeSetupUnseen, Object: object, Warning: true,
		Message: fmt.Sprintf("the pods of %s need node settings that no API of cluster %s shows: %s; without them a moved ordinal would be stopped and not start again", object, sides.Destination.Cluster, plan.Listed(needs)),
		Remedy:  "set the nodes up there like those of cluster " + sides.Source.Cluster + "; the nodes: " + sides.Destination.Kubectl().Do("get", "nodes", "-o", "wide"),
	}}
}

// Scheduler returns the name of the pods' scheduler; empty for the default scheduler.
func Scheduler(spec corev1.PodSpec) string {
	if spec.SchedulerName == corev1.DefaultSchedulerName {
		return ""
	}
	return spec.SchedulerName
}

// Unscheduled warns of a scheduler that has bound no pod of the destination, and of scheduling gates that another
// component must remove. within describes where pods of the scheduler were looked for.
func Unscheduled(sides *endpoint.Pair, spec corev1.PodSpec, binds bool, within string) []plan.Finding {
	object, at := sides.Source.Object(), sides.Destination
	var found []plan.Finding
	if name := Scheduler(spec); name != "" && !binds {
		found = append(found, plan.Finding{
			Reason: api.ReasonSchedulerUnseen, Object: object, Warning: true,
			Message: fmt.Sprintf("the pods of %s use scheduler %s, which has bound no pod in %s: if it does not run there, a moved ordinal would be stopped and stay Pending", object, name, within),
			Remedy:  "run that scheduler there; to see its pods: " + at.Kubectl().Do("get", "pods", "-A", "--field-selector", "spec.schedulerName="+name),
		})
	}
	var waits []string
	for _, gate := range spec.SchedulingGates {
		waits = append(waits, "scheduling gate "+gate.Name)
	}
	if group := spec.SchedulingGroup; group != nil && group.PodGroupName != nil {
		waits = append(waits, "PodGroup "+*group.PodGroupName)
	}
	if len(waits) > 0 {
		found = append(found, plan.Finding{
			Reason: api.ReasonSchedulerUnseen, Object: object, Warning: true,
			Message: fmt.Sprintf("the pods of %s are not scheduled until a controller in their cluster allows it: %s; without it in cluster %s, a moved ordinal would be stopped and stay Pending", object, plan.Listed(waits), at.Cluster),
			Remedy:  "run the controller there, or remove the gate or group from the source's template before the move",
		})
	}
	return found
}
