package hostile

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// known describes a resource.
type known struct {
	version, kind string
	namespaced    bool
}

// resources lists the served resources.
var resources = map[string]known{
	"namespaces":               {"v1", "Namespace", false},
	"pods":                     {"v1", "Pod", true},
	"services":                 {"v1", "Service", true},
	"serviceaccounts":          {"v1", "ServiceAccount", true},
	"secrets":                  {"v1", "Secret", true},
	"configmaps":               {"v1", "ConfigMap", true},
	"resourcequotas":           {"v1", "ResourceQuota", true},
	"limitranges":              {"v1", "LimitRange", true},
	"persistentvolumeclaims":   {"v1", "PersistentVolumeClaim", true},
	"persistentvolumes":        {"v1", "PersistentVolume", false},
	"nodes":                    {"v1", "Node", false},
	"statefulsets":             {"apps/v1", "StatefulSet", true},
	"poddisruptionbudgets":     {"policy/v1", "PodDisruptionBudget", true},
	"volumeattachments":        {"storage.k8s.io/v1", "VolumeAttachment", false},
	"storageclasses":           {"storage.k8s.io/v1", "StorageClass", false},
	"csinodes":                 {"storage.k8s.io/v1", "CSINode", false},
	"csidrivers":               {"storage.k8s.io/v1", "CSIDriver", false},
	"horizontalpodautoscalers": {"autoscaling/v2", "HorizontalPodAutoscaler", true},
	"priorityclasses":          {"scheduling.k8s.io/v1", "PriorityClass", false},
	"runtimeclasses":           {"node.k8s.io/v1", "RuntimeClass", false},
	"selfsubjectaccessreviews": {"authorization.k8s.io/v1", "SelfSubjectAccessReview", false},
}

// request is the object or list that a path addresses.
type request struct{ resource, namespace, name string }

// parse reads /api/v1/... and /apis/<group>/<version>/...
func parse(path string) (request, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	skip := 3
	if parts[0] == "api" {
		skip = 2
	}
	if len(parts) <= skip {
		return request{}, false
	}
	parts = parts[skip:]
	asked := request{}
	if parts[0] == "namespaces" && len(parts) > 2 {
		asked.namespace, parts = parts[1], parts[2:]
	}
	asked.resource = parts[0]
	if len(parts) > 1 {
		asked.name = parts[1]
	}
	_, found := resources[asked.resource]
	return asked, found
}

// discovery answers discovery requests.
func (s *Server) discovery(w http.ResponseWriter, r *http.Request) bool {
	path := strings.Trim(r.URL.Path, "/")
	switch {
	case path == "api":
		JSON(w, http.StatusOK, Object{"kind": "APIVersions", "versions": []string{"v1"}})
	case path == "apis":
		JSON(w, http.StatusOK, Object{"kind": "APIGroupList", "apiVersion": "v1", "groups": groups()})
	case path == "api/v1" || strings.HasPrefix(path, "apis/") && strings.Count(path, "/") == 2:
		version := strings.TrimPrefix(strings.TrimPrefix(path, "apis/"), "api/")
		listed := resourcesOf(version)
		if len(listed) == 0 {
			return false
		}
		JSON(w, http.StatusOK, Object{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": listed})
	case strings.HasPrefix(path, "apis/") && strings.Count(path, "/") == 1:
		for _, group := range groups() {
			if group["name"] == strings.TrimPrefix(path, "apis/") {
				group["kind"], group["apiVersion"] = "APIGroup", "v1"
				JSON(w, http.StatusOK, group)
				return true
			}
		}
		return false
	default:
		return false
	}
	return true
}

func groups() []Object {
	var all []Object
	seen := map[string]bool{"v1": true}
	for _, each := range resources {
		if seen[each.version] {
			continue
		}
		seen[each.version] = true
		name, version, _ := strings.Cut(each.version, "/")
		preferred := Object{"groupVersion": each.version, "version": version}
		all = append(all, Object{"name": name, "versions": []Object{preferred}, "preferredVersion": preferred})
	}
	return all
}

func resourcesOf(version string) []Object {
	var all []Object
	for name, each := range resources {
		if each.version == version {
			all = append(all, Object{
				"name": name, "singularName": "", "namespaced": each.namespaced, "kind": each.kind,
				"verbs": []string{"get", "list", "watch", "create", "patch", "update", "delete"},
			})
		}
	}
	return all
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, asked request) {
	switch {
	case r.Method == http.MethodGet && asked.name != "":
		s.get(w, asked)
	case r.Method == http.MethodGet && slices.Contains([]string{"1", "true"}, r.URL.Query().Get("watch")):
		s.watch(w, r, asked)
	case r.Method == http.MethodGet:
		s.list(w, asked)
	case r.Method == http.MethodDelete:
		s.deletes(w, asked)
	default:
		s.write(w, r, asked)
	}
}

func (s *Server) get(w http.ResponseWriter, asked request) {
	if found := s.Find(asked.resource, asked.namespace, asked.name); found != nil {
		JSON(w, http.StatusOK, found)
		return
	}
	Refuse(w, http.StatusNotFound, "NotFound", asked.resource+" "+asked.name+" not found")
}

func (s *Server) list(w http.ResponseWriter, asked request) {
	s.mu.Lock()
	items, version := s.chosen(asked), s.now()
	s.mu.Unlock()
	JSON(w, http.StatusOK, List(asked.resource, version, items...))
}

// List returns a list of objects of a resource.
func List(resource, version string, items ...Object) Object {
	of := resources[resource]
	if items == nil {
		items = []Object{}
	}
	return Object{"kind": of.kind + "List", "apiVersion": of.version, "metadata": Object{"resourceVersion": version}, "items": items}
}

// chosen returns copies of the objects that a list request selects.
func (s *Server) chosen(asked request) []Object {
	var items []Object
	for _, object := range s.objects[asked.resource] {
		if asked.namespace == "" || metadataOf(object)["namespace"] == asked.namespace {
			items = append(items, clone(object))
		}
	}
	return items
}

func (s *Server) deletes(w http.ResponseWriter, asked request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := key(asked.namespace, asked.name)
	if s.objects[asked.resource][id] == nil {
		Refuse(w, http.StatusNotFound, "NotFound", asked.name+" not found")
		return
	}
	s.remove(asked.resource, id)
	s.settle()
	JSON(w, http.StatusOK, Object{"kind": "Status", "apiVersion": "v1", "status": "Success"})
}

// write answers a request that creates or patches an object.
func (s *Server) write(w http.ResponseWriter, r *http.Request, asked request) {
	var body Object
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		Refuse(w, http.StatusBadRequest, "BadRequest", "the body is no object")
		return
	}
	if asked.resource == "selfsubjectaccessreviews" {
		body["status"] = Object{"allowed": true}
		JSON(w, http.StatusCreated, body)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name := asked.name
	if name == "" {
		name = text(metadataOf(body)["name"])
	}
	was := s.objects[asked.resource][key(asked.namespace, name)]
	object, code := body, http.StatusCreated
	switch {
	case r.Method == http.MethodPost && was != nil:
		Refuse(w, http.StatusConflict, "AlreadyExists", name+" already exists")
		return
	case r.Method != http.MethodPost && was == nil:
		Refuse(w, http.StatusNotFound, "NotFound", name+" not found")
		return
	case r.Method == http.MethodPatch:
		if given := text(metadataOf(body)["resourceVersion"]); given != "" && given != metadataOf(was)["resourceVersion"] {
			Refuse(w, http.StatusConflict, "Conflict", name+" has changed")
			return
		}
		object, code = clone(was), http.StatusOK
		merge(object, body)
	case r.Method == http.MethodPut:
		code = http.StatusOK
	}
	if resources[asked.resource].namespaced {
		metadataOf(object)["namespace"] = asked.namespace
	}
	if r.URL.Query().Has("dryRun") {
		object["apiVersion"], object["kind"] = resources[asked.resource].version, resources[asked.resource].kind
		JSON(w, code, object)
		return
	}
	if was != nil {
		metadataOf(object)["generation"] = number(metadataOf(object)["generation"]) + 1
	}
	s.put(asked.resource, object)
	answer := clone(object)
	s.settle()
	JSON(w, code, answer)
}
