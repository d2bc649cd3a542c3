package rehearsal

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// good returns a candidate that may be rehearsed.
func good() Candidate {
	return Candidate{
		Object: "StatefulSet shop/web", Word: &Word{Recipe: "redis", System: "Redis", Safe: true, Why: "it is"}, Image: "manager", Forbidden: []string{"10.0.0.1:443"},
		ClaimTemplates: []string{"data"}, Addresses: []string{"10.1.0.7"},
		Template: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "web", VolumeMounts: []corev1.VolumeMount{{Name: "data"}, {Name: "certificates", ReadOnly: true}}}},
			Volumes: []corev1.Volume{
				{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
				{Name: "certificates", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/etc/ssl"}}},
			},
		},
	}
}

// TestCheck: nothing is created for an application that cannot be isolated, or without a statement that it may start
// twice.
func TestCheck(t *testing.T) {
	allow := func(text string) []Allowed {
		a, err := ParseAllowed(text)
		if err != nil {
			t.Fatal(err)
		}
		return []Allowed{a}
	}
	volume := func(source corev1.VolumeSource) func(*Candidate) {
		return func(c *Candidate) {
			c.Template.Volumes = append(c.Template.Volumes, corev1.Volume{Name: "more", VolumeSource: source})
			c.Template.Containers[0].VolumeMounts = append(c.Template.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "more"})
		}
	}
	reads := func(path string, kind corev1.HostPathType) func(*Candidate) {
		return func(c *Candidate) { // the mount named certificates is read-only
			c.Template.Volumes[1].HostPath = &corev1.HostPathVolumeSource{Path: path, Type: &kind}
		}
	}
	for name, tc := range map[string]struct {
		change func(*Candidate)
		reason string
		says   string
	}{
		"good":                      {func(*Candidate) {}, "", ""},
		"an address of another":     {func(c *Candidate) { c.Allow = allow("10.4.0.9:443") }, "", ""},
		"nothing states that":       {func(c *Candidate) { c.Word = nil }, "IsolationNotStated", "no recipe states"},
		"a recipe forbids it":       {func(c *Candidate) { c.Word.Safe = false }, "NeverRehearsed", "recipe redis forbids a rehearsal of Redis: it is"},
		"the network of the node":   {func(c *Candidate) { c.Template.HostNetwork = true }, "NotIsolable", "hostNetwork"},
		"the processes of the node": {func(c *Candidate) { c.Template.HostPID = true }, "NotIsolable", "hostPID"},
		"a port of the node":        {func(c *Candidate) { c.Template.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}} }, "NotIsolable", "hostPort"},
		"privileged": {func(c *Candidate) {
			c.Template.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
		}, "NotIsolable", "privileged"},
		"a capability": {func(c *Candidate) {
			c.Template.InitContainers = []corev1.Container{{Name: "net", SecurityContext: &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"CHOWN", "CAP_NET_ADMIN"}}}}}
		}, "NotIsolable", "container net has the capability CAP_NET_ADMIN"},
		"a harmless capability": {func(c *Candidate) {
			c.Template.Containers[0].SecurityContext = &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"IPC_LOCK"}}}
		}, "", ""},
		"a process of the node": {func(c *Candidate) {
			c.Template.SecurityContext = &corev1.PodSecurityContext{WindowsOptions: &corev1.WindowsSecurityContextOptions{HostProcess: new(true)}}
		}, "NotIsolable", "hostProcess"},
		"a socket of the node":     {reads("/opt/agent.sock", corev1.HostPathSocket), "NotIsolable", "hostPath /opt/agent.sock"},
		"a device of the node":     {reads("/opt/disk", corev1.HostPathBlockDev), "NotIsolable", "hostPath /opt/disk"},
		"the sockets of the node":  {reads("/var/run/containerd", ""), "NotIsolable", "hostPath /var/run/containerd"},
		"a folder above sockets":   {reads("/var/", ""), "NotIsolable", "hostPath /var/"},
		"all of the node":          {reads("/", ""), "NotIsolable", "hostPath /"},
		"a folder of another name": {reads("/runtime", ""), "", ""},
		"a file of the node":       {reads("/etc/localtime", corev1.HostPathFile), "", ""},
		"a folder of the node":     {volume(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/data"}}), "NotIsolable", "volume more (HostPath)"},
		"a share":                  {volume(corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{}}), "NotIsolable", "volume more (NFS)"},
		"a claim that all share":   {volume(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}}), "NotIsolable", "volume more (PersistentVolumeClaim)"},
		"a driver's own volume":    {volume(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{}}), "NotIsolable", "volume more (CSI)"},
		"a pod of the source":      {func(c *Candidate) { c.Allow = allow("10.1.0.0/16:6379") }, "AllowsSource", "--allow 10.1.0.0/16:6379 contains 10.1.0.7"},
		"no image":                 {func(c *Candidate) { c.Image = "" }, "ProbeImageMissing", "no image"},
		"no address to try":        {func(c *Candidate) { c.Forbidden = nil }, ReasonNotProven, "no address is known"},
	} {
		t.Run(name, func(t *testing.T) {
			c := good()
			tc.change(&c)
			found := Check(c)
			if tc.reason == "" {
				if len(found) > 0 {
					t.Errorf("%+v", found)
				}
				return
			}
			if len(found) != 1 || found[0].Reason != tc.reason || !strings.Contains(found[0].Message, tc.says) || found[0].Remedy == "" {
				t.Errorf("%+v", found)
			}
		})
	}
}

// TestParseAllowed: only what a NetworkPolicy can state is accepted.
func TestParseAllowed(t *testing.T) {
	for text, want := range map[string]string{
		"10.0.0.7:5432": "10.0.0.7/32:5432", "10.0.0.9/24:53": "10.0.0.0/24:53", "[2001:db8::1]:443": "[2001:db8::1/128]:443", "[2001:db8::/32]:443": "[2001:db8::/32]:443",
		"::ffff:10.0.0.7:80": "10.0.0.7/32:80",
	} {
		if got, err := ParseAllowed(text); err != nil || got.String() != want {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "10.0.0.7", "db.example.com:5432", "10.0.0.7:0", "10.0.0.7:65536", "10.0.0.7:http", "fe80::1%eth0:80", "10.0.0.0/33:1"} {
		if got, err := ParseAllowed(text); err == nil {
			t.Errorf("%q is taken for %s", text, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		if a, err := ParseAllowed(text); err == nil {
			if again, err := ParseAllowed(a.String()); err != nil || again != a {
				t.Errorf("%q: %s, and then %s (%v)", text, a, again, err)
			}
		}
	})
}

// TestNamespace: the namespace of a rehearsal has a valid name that no other rehearsal has.
func TestNamespace(t *testing.T) {
	one, other := namespaceOf("1", "web"), namespaceOf("2", "web")
	if one == other || !strings.HasPrefix(one, "rehearsal-web-") {
		t.Errorf("%s, %s", one, other)
	}
	if long := namespaceOf("1", strings.Repeat("a.", 100)); len(long) > 63 || strings.Contains(long, ".") || strings.Contains(long, "--") {
		t.Errorf("%s", long)
	}
}
