package kind

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sliceshift/sliceshift/e2e/kind/docker"
)

func TestConfig(t *testing.T) {
	for name, tc := range map[string]struct {
		machine      Machine
		want, forbid []string
	}{
		"kind's own image": {
			machine: Machine{Image: "kindest/node:v1"},
			want:    []string{"image: kindest/node:v1"}, forbid: []string{"failCgroupV1", "disableDefaultCNI", "skipPhases", "unsafe-no-fsync"},
		},
		"the image that is built": {
			machine: Machine{Image: "sliceshift/node:v1"},
			want:    []string{"disableDefaultCNI: true", "kubeProxyMode: nftables", "addon/coredns", "unsafe-no-fsync", "podSubnet: 10.1.0.0/16"}, forbid: []string{"failCgroupV1"},
		},
		"the first kind of control groups": {
			machine: Machine{host: docker.Host{CgroupV1: true}},
			want:    []string{"failCgroupV1: false"}, forbid: []string{"disableDefaultCNI"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			plain, err := setting{
				Name: "x", PodSubnet: "10.1.0.0/16", ServiceSubnet: "10.2.0.0/16", SharedDir: "/here", Shared: Shared, Roles: machines,
			}.text()
			if err != nil {
				t.Fatal(err)
			}
			adapted, err := tc.machine.Adapt(plain)
			if err != nil {
				t.Fatal(err)
			}
			var parsed struct {
				Nodes []struct {
					Image       string
					ExtraMounts []struct{ HostPath, ContainerPath string }
				}
			}
			text := string(adapted)
			if err := yaml.Unmarshal(adapted, &parsed); err != nil {
				t.Fatalf("%v:\n%s", err, text)
			}
			if len(parsed.Nodes) != len(machines) {
				t.Errorf("%d nodes, want %d", len(parsed.Nodes), len(machines))
			}
			for _, node := range parsed.Nodes {
				if len(node.ExtraMounts) != 1 || node.ExtraMounts[0].HostPath != "/here" || node.ExtraMounts[0].ContainerPath != Shared {
					t.Errorf("a node does not mount the shared folder: %+v", node)
				}
				if node.Image != tc.machine.Image {
					t.Errorf("a node has the image %q, want %q", node.Image, tc.machine.Image)
				}
			}
			for _, part := range tc.want {
				if !strings.Contains(text, part) {
					t.Errorf("it lacks %q:\n%s", part, text)
				}
			}
			for _, part := range tc.forbid {
				if strings.Contains(text, part) {
					t.Errorf("it has %q:\n%s", part, text)
				}
			}
		})
	}
}

func TestConnectOwn(t *testing.T) {
	if _, err := connectOwn("", "only-one"); err == nil || !strings.Contains(err.Error(), "SOURCE,DESTINATION") {
		t.Errorf("one file is accepted: %v", err)
	}
}
