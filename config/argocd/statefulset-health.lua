-- The health of a StatefulSet of apps.sliceshift.io for Argo CD. It is Healthy once every ordinal is available at its revision,
-- and Degraded once its roll-out has made no progress for progressDeadlineSeconds.
local hs = { status = "Progressing", message = "waiting for the manager to look at it" }
local status = obj.status
if obj.metadata.deletionTimestamp ~= nil then
  hs.message = "it is being deleted"
  return hs
end
if status == nil or status.conditions == nil or status.observedGeneration ~= obj.metadata.generation then
  return hs
end
local conditions = {}
for _, condition in ipairs(status.conditions) do
  conditions[condition.type] = condition
end
local ready = conditions["Ready"]
local stalled = conditions["Stalled"]
if ready ~= nil then
  hs.message = ready.message
end
if stalled ~= nil and stalled.status == "True" then
  hs.status = "Degraded"
  hs.message = stalled.message
elseif ready ~= nil and ready.status == "True" then
  hs.status = "Healthy"
elseif ready ~= nil and ready.reason == "StatefulSetPaused" then
  hs.status = "Suspended"
end
return hs
