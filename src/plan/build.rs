//! Builds the plan: ports, GID policy, interface, profile; then the self-check; then the user's own words.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::error::PlanError;
use super::verify::{Intent, verify};
use super::{Action, Plan, Variable};
use crate::model::{Node, PortKey};
use crate::nccl::config::{Origin, Settings};
use crate::nccl::interface::Bootstrap;
use crate::nccl::outcome::Crash;
use crate::nccl::predict::predict;
use crate::nccl::release::{Feature, KNOWN, Release};
use crate::nccl::selector::max_devices;
use crate::roles::{Assigned, Decision, Fabric, Reason, Refusal, Role, Rules, socket_interface};

const DISABLE: &str = "NCCL_IB_DISABLE";
const HCA: &str = "NCCL_IB_HCA";
const GID_INDEX: &str = "NCCL_IB_GID_INDEX";
const VERSION_NUM: &str = "NCCL_IB_ROCE_VERSION_NUM";
const FAMILY: &str = "NCCL_IB_ADDR_FAMILY";
const RANGE: &str = "NCCL_IB_ADDR_RANGE";
const IFNAME: &str = "NCCL_SOCKET_IFNAME";

/// Variables that can keep right settings from having their effect, in the order in which they are suspected.
const SUSPECTS: [&str; 8] = [
    "NCCL_NET",
    "NCCL_SOCKET_FAMILY",
    GID_INDEX,
    FAMILY,
    VERSION_NUM,
    RANGE,
    "NCCL_NET_FORCE_MERGE",
    "NCCL_IB_DATA_DIRECT",
];

/// How the GID of a RoCE port is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Policy {
    /// The first of the following that is right on every port
    #[default]
    Auto,
    /// One index for all ports
    Pin,
    /// No index: NCCL looks for a RoCE v2 GID of the right family by itself
    Dynamic,
    /// The same within an address range
    Range,
}

/// Which variables are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Profile {
    /// What makes RDMA work: ports, GID, interface
    #[default]
    Base,
    /// Also timeout, queue pairs and log level
    Full,
}

/// What the plan is made of.
pub(crate) struct Request<'a> {
    /// The node.
    pub(crate) node: &'a Node,
    /// Its ports' roles.
    pub(crate) decision: &'a Decision,
    /// What the user said about ports.
    pub(crate) rules: &'a Rules,
    /// The settings that are there already, as a release would read them.
    pub(crate) existing: &'a dyn Fn(Release) -> Settings,
    /// NCCL releases in use; none where that is not known.
    pub(crate) releases: &'a [Release],
    /// `--gid-policy`.
    pub(crate) policy: Policy,
    /// `--profile`.
    pub(crate) profile: Profile,
    /// `--keep`: variables that have a value already keep it.
    pub(crate) keep: bool,
    /// `--set`.
    pub(crate) set: &'a [(String, String)],
}

/// Builds the plan and proves it.
pub(crate) fn build(request: &Request) -> Result<Plan, PlanError> {
    main_is_known(request)?;
    let data: Vec<&Assigned> = request.decision.data().collect();
    if data.is_empty() {
        return Err(no_data_port(request.decision));
    }
    let interface = interface(request, &data)?;
    let intent = Intent {
        ports: data
            .iter()
            .map(|p| (p.key.clone(), p.gid.clone()))
            .collect(),
        interface: interface.0.clone(),
    };
    let mut plan = Plan {
        data: data.iter().map(|p| p.key.clone()).collect(),
        releases: judged_releases(request.releases),
        ..Plan::default()
    };
    leave_out_doomed(request, &mut plan);
    let limit = plan.releases.iter().map(|r| max_devices(*r)).min();
    if let Some(limit) = limit.filter(|l| data.len() > *l) {
        return Err(PlanError::TooManyPorts {
            count: data.len(),
            limit,
        });
    }
    plan.variables
        .push(Variable::set(DISABLE, "0", "RDMA is wanted"));
    plan.variables.push(hca_list(request, &data)?);
    plan.variables
        .push(interface_variable(request.node, &interface));
    if request.decision.fabric == Some(Fabric::Roce) {
        choose_policy(request, &mut plan, &intent, &data)?;
    }
    prove(request, &mut plan, &intent)?;
    // The interface is the last of the base block, whatever way of choosing a GID came in between.
    if let Some(position) = plan.variables.iter().position(|v| v.name == IFNAME) {
        let variable = plan.variables.remove(position);
        plan.variables.push(variable);
    }
    add_profile(request.profile, &mut plan);
    add_remarks(request, &mut plan);
    apply_users_words(request, &mut plan, &intent);
    Ok(plan)
}

/// Without the routes the port of the host's ordinary traffic cannot be told from the others.
fn main_is_known(request: &Request) -> Result<(), PlanError> {
    let told = !request.rules.main.is_empty()
        || request.rules.hca.is_some()
        || request.decision.ports.is_empty();
    if told || request.node.default_route().is_some() {
        return Ok(());
    }
    // A kernel without IPv6 has no such file.
    let v6 = request
        .node
        .routes6
        .as_ref()
        .err()
        .filter(|u| !u.is_absent());
    match request.node.routes4.as_ref().err().or(v6) {
        Some(unread) => Err(PlanError::RoutesUnread(unread.clone())),
        None => Ok(()),
    }
}

/// The plan for plain sockets; `None` where no interface can carry them.
pub(crate) fn sockets(node: &Node, main: &[String]) -> Option<Plan> {
    let choice = socket_interface(node, main, &[])?;
    checked("interface", &choice.name).ok()?;
    Some(Plan {
        variables: vec![
            Variable::set(DISABLE, "1", "--fallback tcp"),
            interface_variable(node, &(choice.name, choice.why)),
        ],
        ..Plan::default()
    })
}

fn no_data_port(decision: &Decision) -> PlanError {
    PlanError::NoDataPort {
        refusal: decision.refusal.clone().unwrap_or(Refusal::NothingUsable),
        ports: decision
            .ports
            .iter()
            .map(|p| (p.key.clone(), p.reason.to_string()))
            .collect(),
    }
}

/// The releases a block is proved for: those in use, or every known one that can choose a GID by itself.
fn judged_releases(in_use: &[Release]) -> Vec<Release> {
    if in_use.is_empty() {
        KNOWN
            .iter()
            .copied()
            .filter(|r| r.has(Feature::DynamicGid))
            .collect()
    } else {
        in_use.to_vec()
    }
}

/// Where the release is not known, those that die on this node whatever is set are left out, and a warning says so.
fn leave_out_doomed(request: &Request, plan: &mut Plan) {
    if !request.releases.is_empty() {
        return;
    }
    let doomed = |release: &Release| {
        predict(request.node, &(request.existing)(*release), *release).crash
            == Some(Crash::NoDevicePath)
    };
    let (dead, alive): (Vec<Release>, Vec<Release>) = plan.releases.iter().partition(|r| doomed(r));
    if !dead.is_empty() && !alive.is_empty() {
        plan.warnings.push(format!(
            "NCCL {} {}, whatever is set; the block is for {}",
            releases_text(&dead),
            "dies on this node, because its RDMA devices have no device link in sysfs",
            releases_text(&alive)
        ));
        plan.releases = alive;
    }
}

/// Makes sure that a name can be printed in every format without a second thought.
fn checked<'a>(what: &'static str, name: &'a str) -> Result<&'a str, PlanError> {
    let fine = |c: char| c.is_ascii_alphanumeric() || "._:@+-".contains(c);
    if !name.is_empty() && name.chars().all(fine) {
        Ok(name)
    } else {
        Err(PlanError::OddName {
            what,
            name: name.to_owned(),
        })
    }
}

/// The exact list: `=` once, `:port` only where a device has ports that are no data ports.
fn hca_list(request: &Request, data: &[&Assigned]) -> Result<Variable, PlanError> {
    let mut entries: Vec<String> = Vec::new();
    let keys: BTreeSet<&PortKey> = data.iter().map(|p| &p.key).collect();
    for key in data.iter().map(|p| &p.key) {
        let name = checked("device", &key.hca)?;
        let ports = request.node.hca(name).map_or(&[][..], |h| h.ports());
        let all = ports.iter().all(|p| {
            keys.contains(&PortKey {
                hca: name.to_owned(),
                port: p.number,
            })
        });
        if !all {
            entries.push(format!("{name}:{}", key.port));
        } else if entries.last().is_none_or(|last| last != name) {
            entries.push(name.to_owned());
        }
    }
    Ok(Variable::set(
        HCA,
        format!("={}", entries.join(",")),
        format!(
            "{} data ports, by exact name (without `=`, mlx5_1 would also select mlx5_10)",
            data.len()
        ),
    ))
}

fn interface(request: &Request, data: &[&Assigned]) -> Result<(String, &'static str), PlanError> {
    let netdevs: Vec<BTreeSet<String>> = data.iter().map(|p| p.netdevs.clone()).collect();
    let choice = socket_interface(request.node, &request.rules.main, &netdevs)
        .ok_or(PlanError::NoInterface)?;
    checked("interface", &choice.name)?;
    Ok((choice.name, choice.why))
}

/// The plain name; exact where another interface's name starts with it, or where NCCL would not read a single letter.
fn interface_variable(node: &Node, (name, why): &(String, &'static str)) -> Variable {
    let longer = node
        .netdevs()
        .iter()
        .map(|n| n.name.as_str())
        .chain(node.interfaces().iter().map(|i| i.name.as_str()))
        .find(|n| *n != name && n.starts_with(name.as_str()));
    match longer {
        Some(other) => Variable::set(
            IFNAME,
            format!("={name}"),
            format!("{why}; exact, because {other} starts with the same letters"),
        ),
        None if name.len() == 1 => Variable::set(
            IFNAME,
            format!("={name}"),
            format!("{why}; NCCL does not read a value of one letter"),
        ),
        None => Variable::set(IFNAME, name.clone(), *why),
    }
}

/// Takes the first way of choosing a GID that is right on every port with every release in question.
fn choose_policy(
    request: &Request,
    plan: &mut Plan,
    intent: &Intent,
    data: &[&Assigned],
) -> Result<(), PlanError> {
    let tried = match request.policy {
        Policy::Auto => vec![Policy::Pin, Policy::Dynamic, Policy::Range],
        one => vec![one],
    };
    let base = plan.variables.clone();
    let mut reasons = Vec::new();
    let mut works_from: Option<Release> = None;
    for policy in tried {
        let block = match block(policy, data) {
            Ok(block) => block,
            Err(why) => {
                reasons.push(why);
                continue;
            }
        };
        plan.variables = base.iter().cloned().chain(block).collect();
        match prove(request, plan, intent) {
            Ok(()) => {
                plan.policy = Some(policy);
                return Ok(());
            }
            Err(PlanError::NotProved {
                release,
                difference,
            }) => {
                reasons.push(format!(
                    "{}: with NCCL {release}, {difference}",
                    policy.word()
                ));
                let from = oldest_that_works(request, plan, intent);
                works_from = works_from.or(from);
            }
            Err(other) => return Err(other),
        }
    }
    Err(PlanError::NoPolicy {
        releases: releases_text(&plan.releases),
        rows: rows_text(data),
        tried: reasons,
        forced: request.policy != Policy::Auto,
        works_from: works_from
            .filter(|r| !plan.releases.contains(r) || request.releases.is_empty()),
    })
}

/// The oldest known release from which on, up to the newest, the plan is right.
fn oldest_that_works(request: &Request, plan: &Plan, intent: &Intent) -> Option<Release> {
    KNOWN
        .iter()
        .rev()
        .take_while(|r| {
            let settings = with_plan((request.existing)(**r), &plan.variables);
            verify(request.node, &settings, **r, intent).is_ok()
        })
        .last()
        .copied()
}

impl Policy {
    /// The word for it in output.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Pin => "pin",
            Self::Dynamic => "dynamic",
            Self::Range => "range",
        }
    }
}

/// The variables of one way of choosing a GID, or why it is out of the question.
fn block(policy: Policy, data: &[&Assigned]) -> Result<Vec<Variable>, String> {
    let rows: Vec<_> = data.iter().filter_map(|p| p.gid.as_ref()).collect();
    let addresses: Vec<IpAddr> = rows.iter().map(|r| r.gid.address()).collect();
    if policy == Policy::Pin || policy == Policy::Auto {
        let first = rows.first().map(|r| r.index);
        return match first {
            Some(index) if rows.iter().all(|r| r.index == index) => Ok(vec![Variable::set(
                GID_INDEX,
                index.to_string(),
                "the RoCE v2 row of every data port",
            )]),
            _ => Err("pin: the ports need different indexes".to_owned()),
        };
    }
    let v4 = addresses.iter().filter(|a| a.is_ipv4()).count();
    let family = match v4 {
        0 => "AF_INET6",
        n if n == addresses.len() => "AF_INET",
        _ => {
            return Err(format!(
                "{}: some ports have IPv4 GIDs and some only IPv6 ones, and NCCL looks for one family",
                policy.word()
            ));
        }
    };
    let mut variables = vec![
        Variable {
            name: GID_INDEX.to_owned(),
            action: Action::Unset,
            why: "the ports need different indexes, so NCCL must look for each itself".to_owned(),
        },
        Variable::set(VERSION_NUM, "2", "RoCE v2"),
        Variable::set(FAMILY, family, "the family of every data port's GID"),
    ];
    if policy == Policy::Range {
        let range = common_network(&addresses)
            .ok_or("range: no address range holds all the ports' addresses")?;
        variables.push(Variable::set(
            RANGE,
            range,
            "the narrowest range that holds every data port's address",
        ));
    }
    Ok(variables)
}

/// The longest prefix all addresses share, as `ADDRESS/LENGTH`.
fn common_network(addresses: &[IpAddr]) -> Option<String> {
    let bits = |a: &IpAddr| match a {
        IpAddr::V4(ip) => u128::from(u32::from(*ip)) << 96,
        IpAddr::V6(ip) => u128::from(*ip),
    };
    let first = addresses.first()?;
    let width = if first.is_ipv4() { 32 } else { 128 };
    let length = addresses
        .iter()
        .map(|a| (bits(a) ^ bits(first)).leading_zeros())
        .min()?
        .min(width);
    let mask = if length == 0 {
        0
    } else {
        u128::MAX << (128 - length)
    };
    let network = bits(first) & mask;
    let address: IpAddr = if first.is_ipv4() {
        Ipv4Addr::from(u32::try_from(network >> 96).ok()?).into()
    } else {
        Ipv6Addr::from(network).into()
    };
    Some(format!("{address}/{length}"))
}

/// The settings with the plan's variables on top.
fn with_plan(mut settings: Settings, variables: &[Variable]) -> Settings {
    for variable in variables {
        match &variable.action {
            Action::Set(value) => settings.set(&variable.name, value),
            Action::Blank => settings.set(&variable.name, ""),
            Action::Unset => settings.unset(&variable.name),
        }
    }
    settings
}

/// Proves the plan for every release in question. Where something that is set already stands in the way, it is unset, or
/// shadowed where a configuration file sets it.
fn prove(request: &Request, plan: &mut Plan, intent: &Intent) -> Result<(), PlanError> {
    let before = plan.variables.len();
    clear_the_way(request, plan, intent)?;
    if plan.variables.len() == before {
        return Ok(());
    }
    // What was cleared for one release must be right for those before it, too.
    for release in plan.releases.clone() {
        let settings = with_plan((request.existing)(release), &plan.variables);
        verify(request.node, &settings, release, intent).map_err(|difference| {
            PlanError::NotProved {
                release,
                difference,
            }
        })?;
    }
    Ok(())
}

fn clear_the_way(request: &Request, plan: &mut Plan, intent: &Intent) -> Result<(), PlanError> {
    for release in plan.releases.clone() {
        let existing = (request.existing)(release);
        shadow_files(&existing, plan);
        let check = |variables: &[Variable]| {
            verify(
                request.node,
                &with_plan(existing.clone(), variables),
                release,
                intent,
            )
        };
        let Err(mut difference) = check(&plan.variables) else {
            continue;
        };
        for suspect in SUSPECTS {
            let planned = plan.variables.iter().any(|v| v.name == suspect);
            let Some(variable) = (!planned).then(|| cleared(&existing, suspect)).flatten() else {
                continue;
            };
            plan.variables.push(variable);
            match check(&plan.variables) {
                Ok(()) => {
                    difference.clear();
                    break;
                }
                // It was not this one, or not this one alone.
                Err(now) if now == difference => {
                    plan.variables.pop();
                }
                Err(now) => difference = now,
            }
        }
        if !difference.is_empty() {
            return Err(PlanError::NotProved {
                release,
                difference,
            });
        }
    }
    Ok(())
}

/// Where a configuration file sets a variable that the plan unsets, an empty value keeps the file's out.
fn shadow_files(existing: &Settings, plan: &mut Plan) {
    for variable in plan
        .variables
        .iter_mut()
        .filter(|v| v.action == Action::Unset)
    {
        if let Some(file) = file_origin(existing, &variable.name) {
            variable.action = Action::Blank;
            variable.why = format!("{}; empty, because {file} sets it", variable.why);
        }
    }
}

fn file_origin(existing: &Settings, name: &str) -> Option<String> {
    let setting = existing.setting(name)?;
    std::iter::once(&setting.effective)
        .chain(&setting.shadowed)
        .find(|d| d.origin != Origin::Environment)
        .map(|d| d.origin.to_string())
}

/// The way to take a variable out of the game, when it is set to something.
fn cleared(existing: &Settings, name: &str) -> Option<Variable> {
    let value = existing.get(name).filter(|v| !v.is_empty())?;
    let why = format!("{value:?} would keep NCCL from doing this");
    Some(match file_origin(existing, name) {
        // An empty NCCL_NET matches no network; its name does.
        Some(_) if name == "NCCL_NET" => Variable::set(name, "IB", why),
        Some(file) => Variable {
            name: name.to_owned(),
            action: Action::Blank,
            why: format!("{why}; empty, because {file} sets it"),
        },
        None => Variable {
            name: name.to_owned(),
            action: Action::Unset,
            why,
        },
    })
}

fn add_profile(profile: Profile, plan: &mut Plan) {
    if profile == Profile::Full {
        plan.variables.extend([
            Variable::set(
                "NCCL_IB_TIMEOUT",
                "22",
                "4.096 us x 2^22, some 17 s a try: rides out a link flap",
            ),
            Variable::set(
                "NCCL_IB_QPS_PER_CONNECTION",
                "8",
                "several paths through an ECMP fabric",
            ),
            Variable::set("NCCL_DEBUG", "INFO", "NCCL says which network it uses"),
        ]);
    }
}

/// `NCCL_COMM_ID` decides about the bootstrap by itself; no setting of the plan can mend a wrong one.
fn bootstrap_warning(request: &Request, plan: &Plan) -> Option<String> {
    let release = plan.releases.last().copied()?;
    let settings = with_plan((request.existing)(release), &plan.variables);
    let id = settings.get("NCCL_COMM_ID")?.to_owned();
    match predict(request.node, &settings, release).bootstrap {
        Bootstrap::Failed(code) => Some(format!(
            "NCCL cannot start with NCCL_COMM_ID={id:?} on this node ({code}); unset it, or give an address of a network \
             this node is in"
        )),
        _ => None,
    }
}

/// At most eight names, and how many more there are.
fn shortened(names: &[String]) -> String {
    const MOST: usize = 8;
    match names.len().checked_sub(MOST) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..MOST].join(", ")),
    }
}

/// Warnings and notes about the choice itself.
fn add_remarks(request: &Request, plan: &mut Plan) {
    let unusable = || {
        request
            .decision
            .ports
            .iter()
            .filter(|p| p.role == Role::Unusable)
    };
    let mut reasons: Vec<String> = unusable().map(|p| p.reason.to_string()).collect();
    reasons.sort();
    reasons.dedup();
    for reason in reasons {
        let ports: Vec<String> = unusable()
            .filter(|p| p.reason.to_string() == reason)
            .map(|p| p.key.to_string())
            .collect();
        plan.notes
            .push(format!("left out: {} ({reason})", shortened(&ports)));
    }
    if let Some(warning) = bootstrap_warning(request, plan) {
        plan.warnings.push(warning);
    }
    if request.decision.only_main() {
        plan.warnings.push(format!(
            "{} carries the host's ordinary traffic too: no other port is usable",
            plan.data
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        ));
    }
    for port in &request.decision.ports {
        if let Reason::VirtualOfPhysical(_) = port.reason {
            plan.warnings
                .push(format!("{} is left out: {}", port.key, port.reason));
        }
    }
    if request.releases.is_empty() && plan.policy.is_some_and(|p| p != Policy::Pin) {
        plan.notes.push(format!(
            "NCCL's version is not known: the block is for {}",
            releases_text(&plan.releases)
        ));
    }
    let existing = plan
        .releases
        .last()
        .map(|r| (request.existing)(*r))
        .unwrap_or_default();
    let replaced: Vec<String> = plan
        .variables
        .iter()
        .filter_map(|v| {
            let old = existing.setting(&v.name)?;
            let value = &old.effective.value;
            let changes =
                v.value() != Some(value.as_str()) && !(value.is_empty() && v.value().is_none());
            changes.then(|| format!("{} was {value:?} ({})", v.name, old.effective.origin))
        })
        .collect();
    if !request.keep {
        plan.notes.extend(replaced);
    }
}

/// `--keep` and `--set`: the user's word counts, and the model only warns about it.
fn apply_users_words(request: &Request, plan: &mut Plan, intent: &Intent) {
    let newest = plan.releases.last().copied().unwrap_or(Release::NEWEST);
    let existing = (request.existing)(newest);
    if request.keep {
        let kept: BTreeMap<String, String> = plan
            .variables
            .iter()
            .filter_map(|v| {
                let setting = existing.setting(&v.name)?;
                let own = setting.effective.origin == Origin::Environment;
                let value = setting.effective.value.clone();
                (own && v.value() != Some(value.as_str())).then(|| (v.name.clone(), value))
            })
            .collect();
        plan.variables.retain(|v| !kept.contains_key(&v.name));
        plan.notes.extend(
            kept.iter()
                .map(|(name, value)| format!("{name} stays {value:?} (--keep)")),
        );
    }
    for (name, value) in request.set {
        plan.variables.retain(|v| v.name != *name);
        plan.variables
            .push(Variable::set(name, value.clone(), "--set"));
    }
    if request.keep || !request.set.is_empty() {
        let settings = with_plan(existing, &plan.variables);
        if let Err(difference) = verify(request.node, &settings, newest, intent) {
            plan.warnings.push(format!(
                "with what --keep and --set say, {difference} (NCCL {newest})"
            ));
        }
    }
}

fn rows_text(data: &[&Assigned]) -> Vec<String> {
    data.iter()
        .filter_map(|p| {
            let row = p.gid.as_ref()?;
            Some(format!(
                "{} needs {} ({})",
                p.key,
                row.index,
                row.gid.address()
            ))
        })
        .collect()
}

/// `2.27.7`, or `2.21.5 to 2.30.7`.
fn releases_text(releases: &[Release]) -> String {
    match releases {
        [] => "of an unknown release".to_owned(),
        [one] => one.to_string(),
        [first, .., last] => format!("{first} to {last}"),
    }
}

#[cfg(test)]
mod tests {
    use super::common_network;

    fn network(addresses: &[&str]) -> String {
        let parsed: Vec<_> = addresses.iter().map(|a| a.parse().unwrap()).collect();
        common_network(&parsed).unwrap()
    }

    #[test]
    fn the_range_is_the_longest_common_prefix() {
        assert_eq!(network(&["10.1.0.1", "10.2.0.1"]), "10.0.0.0/14");
        assert_eq!(network(&["10.1.0.1"]), "10.1.0.1/32");
        assert_eq!(network(&["10.0.0.1", "192.168.0.1"]), "0.0.0.0/0");
        assert_eq!(network(&["fd00::1", "fd00::2"]), "fd00::/126");
    }
}
