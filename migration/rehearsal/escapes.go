package rehearsal

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/migration/dependencies"
)

// inside lists the volume sources that lead to nothing outside of the pod and its namespace. A volume that a driver
// provisions for one pod is among them.
var inside = []string{"EmptyDir", "Secret", "ConfigMap", "Projected", "DownwardAPI", "Ephemeral", "Image"}

// leaving lists the capabilities with which a container leaves its sandbox, or takes another address.
var leaving = []string{"ALL", "BPF", "DAC_READ_SEARCH", "NET_ADMIN", "SYS_ADMIN", "SYS_MODULE", "SYS_RAWIO"}

// sockets lists the folders of a node with its sockets, devices and processes.
var sockets = []string{"/dev", "/proc", "/run", "/var/run", "/var/lib/kubelet"}

// Escapes returns the ways by which pods reach something that no NetworkPolicy denies.
func Escapes(spec corev1.PodSpec, claimTemplates []string) []string {
	var ways []string
	if spec.HostNetwork {
		ways = append(ways, "the pods use the network of their node (hostNetwork), to which no NetworkPolicy applies")
	}
	if spec.HostPID || spec.HostIPC {
		ways = append(ways, "the pods see the processes of their node (hostPID, hostIPC), among which are those of the running application")
	}
	if s := spec.SecurityContext; s != nil && hostProcess(s.WindowsOptions) {
		ways = append(ways, "the pods are processes of their node (hostProcess), to which no NetworkPolicy applies")
	}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		ways = append(ways, escapesOf(c)...)
	}
	for _, v := range spec.Volumes {
		kind := sourceOf(v)
		switch {
		case slices.Contains(claimTemplates, v.Name), slices.Contains(inside, kind):
		case kind != "HostPath" || dependencies.Written(spec, v.Name):
			ways = append(ways, fmt.Sprintf("volume %s (%s) is shared with the running application or with others, and a clone would write to it", v.Name, kind))
		case connects(*v.HostPath):
			ways = append(ways, fmt.Sprintf("volume %s has sockets or devices of the node (hostPath %s), which a clone can use although it is mounted read-only", v.Name, v.HostPath.Path))
		}
	}
	return ways
}

// escapesOf returns the ways of one container.
func escapesOf(c corev1.Container) (ways []string) {
	if s := c.SecurityContext; s != nil {
		if s.Privileged != nil && *s.Privileged {
			ways = append(ways, "container "+c.Name+" is privileged, and can leave its network")
		}
		if hostProcess(s.WindowsOptions) {
			ways = append(ways, "container "+c.Name+" is a process of its node (hostProcess), to which no NetworkPolicy applies")
		}
		if s.Capabilities != nil {
			for _, each := range s.Capabilities.Add {
				if slices.Contains(leaving, strings.TrimPrefix(strings.ToUpper(string(each)), "CAP_")) {
					ways = append(ways, fmt.Sprintf("container %s has the capability %s, with which it can leave its network or take another address", c.Name, each))
				}
			}
		}
	}
	if slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.HostPort != 0 }) {
		ways = append(ways, "container "+c.Name+" has a hostPort, by which clients of the node reach the clone")
	}
	return ways
}

func hostProcess(options *corev1.WindowsSecurityContextOptions) bool {
	return options != nil && options.HostProcess != nil && *options.HostProcess
}

// connects reports whether a path of a node is, or may hold, something that a pod uses without writing to the path: a
// socket, a device, or the folders of processes.
func connects(at corev1.HostPathVolumeSource) bool {
	if at.Type != nil && slices.Contains([]corev1.HostPathType{corev1.HostPathSocket, corev1.HostPathCharDev, corev1.HostPathBlockDev}, *at.Type) {
		return true
	}
	below := func(one, other string) bool { return strings.HasPrefix(one+"/", strings.TrimSuffix(other, "/")+"/") }
	cleaned := path.Clean("/" + at.Path)
	return slices.ContainsFunc(sockets, func(folder string) bool { return below(cleaned, folder) || below(folder, cleaned) })
}

// sourceOf returns the kind of a volume's source; empty if it has none.
func sourceOf(v corev1.Volume) string {
	source := reflect.ValueOf(v.VolumeSource)
	for i := range source.NumField() {
		if !source.Field(i).IsNil() {
			return source.Type().Field(i).Name
		}
	}
	return ""
}
