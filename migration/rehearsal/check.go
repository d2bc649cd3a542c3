package rehearsal

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/migration/plan"
)

// Allowed is an address that pods of a rehearsal may reach.
type Allowed struct {
	Prefix netip.Prefix
	Port   int32
}

// ParseAllowed parses an address of the form IP:PORT or CIDR:PORT. NetworkPolicies have no host names.
func ParseAllowed(text string) (Allowed, error) {
	at := strings.LastIndex(text, ":")
	if at < 0 {
		return Allowed{}, fmt.Errorf("%q has no port: write IP:PORT or CIDR:PORT, such as 10.0.0.7:5432", text)
	}
	port, err := strconv.ParseInt(text[at+1:], 10, 32)
	if err != nil || port < 1 || port > 65535 {
		return Allowed{}, fmt.Errorf("%q has no port from 1 to 65535", text)
	}
	host := strings.NewReplacer("[", "", "]", "").Replace(text[:at])
	if prefix, err := netip.ParsePrefix(host); err == nil {
		return Allowed{prefix.Masked(), int32(port)}, nil
	}
	address, err := netip.ParseAddr(host)
	if err != nil || address.Zone() != "" {
		return Allowed{}, fmt.Errorf("%q is neither an IP address nor a CIDR: a NetworkPolicy has no host names", host)
	}
	return Allowed{netip.PrefixFrom(address.Unmap(), address.Unmap().BitLen()), int32(port)}, nil
}

// String returns the address as a flag has it.
func (a Allowed) String() string {
	host := a.Prefix.String()
	if a.Prefix.Addr().Is6() {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(a.Port))
}

// holds reports whether the address of a pod is allowed.
func (a Allowed) holds(address string) bool {
	parsed, err := netip.ParseAddr(address)
	return err == nil && a.Prefix.Contains(parsed.Unmap())
}

// Word states whether a system may be rehearsed, and why.
type Word struct {
	// Recipe is the name of the recipe that states it; empty if the user does. System is its title.
	Recipe, System string
	Safe           bool
	Why            string
	// Unasked are the gates of the recipe that wait for members that no pod of a rehearsal reaches.
	Unasked []string
}

// Candidate describes a StatefulSet before its rehearsal.
type Candidate struct {
	// Object names it, with its cluster.
	Object         string
	Template       corev1.PodSpec
	ClaimTemplates []string
	// Word is nil if neither a recipe nor the user states whether it is safe.
	Word *Word
	// Addresses are those of the source's pods, and of the Services that lead to them.
	Addresses []string
	Allow     []Allowed
	// Forbidden lists addresses that the pods must not reach.
	Forbidden []string
	// Image contains the program of the probes.
	Image string
}

// Check returns what stands in the way of a rehearsal. Every finding refuses it, before anything is created.
func Check(c Candidate) []plan.Finding {
	var found []plan.Finding
	add := func(reason, message, remedy string) {
		found = append(found, plan.Finding{Check: "rehearsal", Reason: reason, Object: c.Object, Message: message, Remedy: remedy})
	}
	switch w := c.Word; {
	case w == nil:
		add("IsolationNotStated", "no recipe states whether a second start of this application is safe: a clone may act on the outside by a way that no NetworkPolicy denies",
			"name a recipe (--recipe), or state why it is safe: --isolated REASON")
	case !w.Safe:
		add("NeverRehearsed", fmt.Sprintf("recipe %s forbids a rehearsal of %s: %s", w.Recipe, w.System, w.Why), "rehearse the move on a copy of the whole system that has its own names")
	}
	for _, why := range Escapes(c.Template, c.ClaimTemplates) {
		add("NotIsolable", why, "remove it from the pod template, or do not rehearse this StatefulSet")
	}
	for _, a := range c.Allow {
		if at := slices.IndexFunc(c.Addresses, a.holds); at >= 0 {
			add("AllowsSource", fmt.Sprintf("--allow %s contains %s, an address of the source's pods or of a Service that leads to them: a clone would join the running application", a, c.Addresses[at]), "allow a smaller range of addresses")
		}
	}
	if c.Image == "" {
		add("ProbeImageMissing", "no image is named for the pods that try the NetworkPolicy", "name the image of the manager, of this version: --image IMAGE")
	}
	if len(c.Forbidden) == 0 {
		add(ReasonNotProven, "no address is known that pods of the destination's cluster must not reach", "name one that they reach without a NetworkPolicy: --forbid HOST:PORT")
	}
	return found
}
