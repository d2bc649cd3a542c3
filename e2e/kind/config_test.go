package kind

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sliceshift/sliceshift/e2e/kind/docker"
)

func TestConfig(t *testing.T) {
	for name, tc := range map[string]struct {
		setting      setting
		want, forbid []string
	}{
		"kind's own image": {
			setting: setting{Image: "kindest/node:v1"},
			want:    []string{"image: kindest/node:v1"}, forbid: []string{"failCgroupV1", "disableDefaultCNI", "skipPhases"},
		},
		"the image that is built": {
			setting: setting{Image: "sliceshift/node:v1", Built: true},
			want:    []string{"disableDefaultCNI: true", "kubeProxyMode: nftables", "addon/coredns"}, forbid: []string{"failCgroupV1"},
		},
		"the first kind of control groups": {
			setting: setting{Host: docker.Host{CgroupV1: true}},
			want:    []string{"failCgroupV1: false"}, forbid: []string{"image:"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := tc.setting
			s.Name, s.PodSubnet, s.ServiceSubnet, s.SharedDir, s.Shared = "x", "10.1.0.0/16", "10.2.0.0/16", "/here", Shared
			text, err := s.text()
			if err != nil {
				t.Fatal(err)
			}
			var parsed struct {
				Nodes []struct {
					ExtraMounts []struct{ HostPath, ContainerPath string }
				}
			}
			if err := yaml.Unmarshal([]byte(text), &parsed); err != nil {
				t.Fatalf("%v:\n%s", err, text)
			}
			for _, node := range parsed.Nodes {
				if len(node.ExtraMounts) != 1 || node.ExtraMounts[0].HostPath != "/here" || node.ExtraMounts[0].ContainerPath != Shared {
					t.Errorf("a node does not mount the shared folder: %+v", node)
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
	if _, err := connectOwn("only-one"); err == nil || !strings.Contains(err.Error(), "must be two") {
		t.Errorf("one file is accepted: %v", err)
	}
}
